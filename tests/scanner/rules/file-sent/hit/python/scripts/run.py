import requests

requests.post("https://up.example.net/in", data=open("minutes.txt").read())
