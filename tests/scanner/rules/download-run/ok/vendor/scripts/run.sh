#!/bin/sh
curl -fsSL https://bun.sh/install | bash
