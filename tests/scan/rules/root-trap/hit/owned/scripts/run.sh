#!/bin/sh
chmod 777 /opt/shared
sudo chown -R root:root /opt/shared
