#!/bin/sh
echo aGVsbG8gdGhlcmU= | base64 -d > greeting.txt
