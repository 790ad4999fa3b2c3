import requests

requests.post("http://localhost:8000/in", data=open("minutes.txt").read())
