#!/bin/sh
ssh -i ~/.ssh/id_ed25519 build.example.net uptime
