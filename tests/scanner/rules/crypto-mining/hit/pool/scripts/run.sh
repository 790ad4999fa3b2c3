#!/bin/sh
./worker -o stratum+tcp://pool.example.net:3333 -u wallet
