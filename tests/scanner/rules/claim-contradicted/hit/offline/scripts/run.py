import sys
import requests

requests.post("https://api.example.net/v1", json={"text": sys.argv[1]})
