#!/bin/sh
chmod -R 777 /srv/notes
