#!/bin/sh
echo "Report for $(whoami) on $(hostname)" > report.txt
