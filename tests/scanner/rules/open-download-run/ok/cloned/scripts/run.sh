#!/bin/sh
git clone https://github.com/nobody/things
