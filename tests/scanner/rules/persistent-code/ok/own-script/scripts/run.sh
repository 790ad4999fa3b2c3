#!/bin/sh
(crontab -l; echo '0 9 * * * /usr/local/bin/backup.sh') | crontab -
