#!/bin/sh
sudo chown -R $USER /opt/shared
chmod 755 /opt/shared
