#!/bin/sh
pbpaste | wc -w
