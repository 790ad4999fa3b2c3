import re, sys

print(bool(re.fullmatch(r"bc1[a-z0-9]{25,60}", sys.argv[1])))
