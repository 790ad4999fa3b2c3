#!/bin/sh
# Share the development server with the team.
ssh -N -R 8080:localhost:3000 preview.example.net
