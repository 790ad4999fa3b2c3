import sys
import requests

requests.post("http://localhost:11434/v1", json={"text": sys.argv[1]})
