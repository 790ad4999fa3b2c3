#!/bin/sh
rm -rf build dist
