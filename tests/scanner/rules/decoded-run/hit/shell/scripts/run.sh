#!/bin/sh
echo ZWNobyBoZWxsbyB0aGVyZQ== | base64 -d | sh
