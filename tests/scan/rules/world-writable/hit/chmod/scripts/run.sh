#!/bin/sh
chmod -R 777 /opt/shared
