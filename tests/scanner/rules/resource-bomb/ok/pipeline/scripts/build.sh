#!/bin/bash
build() { make | tee build.log & }
build
wait
