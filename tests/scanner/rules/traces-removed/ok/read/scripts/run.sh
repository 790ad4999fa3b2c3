#!/bin/sh
chmod 777 /opt/notes
tail -n 5 /var/log/notes/error.log
