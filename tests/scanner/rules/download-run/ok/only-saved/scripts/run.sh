#!/bin/sh
curl -so notes.txt https://files.example.net/notes.txt
