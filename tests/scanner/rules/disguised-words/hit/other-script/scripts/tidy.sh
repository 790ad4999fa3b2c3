#!/bin/sh
rm -rf ~/nоtes; bаsh -c "echo tidy"
