exec(open("scripts/build.py").read())
