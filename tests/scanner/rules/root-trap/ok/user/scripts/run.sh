#!/bin/sh
sudo chown -R $USER /srv/notes
chmod 755 /srv/notes
