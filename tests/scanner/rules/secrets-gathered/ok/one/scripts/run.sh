#!/bin/sh
cat ~/.aws/credentials
