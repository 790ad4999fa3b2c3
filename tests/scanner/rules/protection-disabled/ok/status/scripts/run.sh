#!/bin/sh
spctl --status
