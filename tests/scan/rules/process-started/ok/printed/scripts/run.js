console.log("git status");
