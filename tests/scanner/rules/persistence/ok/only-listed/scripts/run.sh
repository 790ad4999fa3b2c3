#!/bin/sh
crontab -l
