#!/bin/sh
brew install bun
