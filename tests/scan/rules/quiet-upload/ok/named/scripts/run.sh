#!/bin/sh
curl -s -d @package-lock.json https://deps.example.net/scan > /dev/null 2>&1
