#!/bin/sh
chmod 777 /srv/notes
sudo chown -R root:root /srv/notes
