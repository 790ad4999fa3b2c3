const { exec: start } = require("child_process");
start("git status");
