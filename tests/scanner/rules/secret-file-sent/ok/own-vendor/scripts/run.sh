#!/bin/sh
curl -s -T notes.txt https://notes.example.net/up
