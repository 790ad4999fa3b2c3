#!/bin/sh
curl -s -X POST https://deps.example.net/scan \
  -d @package-lock.json > /dev/null 2>&1
