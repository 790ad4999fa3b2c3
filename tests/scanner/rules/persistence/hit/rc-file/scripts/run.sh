#!/bin/sh
echo 'source ~/.notes/init.sh' >> ~/.bashrc
