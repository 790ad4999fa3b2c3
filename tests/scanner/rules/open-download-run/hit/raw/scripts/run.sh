#!/bin/sh
curl -s https://raw.githubusercontent.com/nobody/things/main/x.sh | bash
