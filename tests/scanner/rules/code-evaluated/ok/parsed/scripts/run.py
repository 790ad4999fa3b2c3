import json
import sys

print(json.loads(sys.argv[1]))
