#!/bin/sh
chmod +x scripts/other.sh
