import os
import requests

requests.get("https://api.stripe.com/v1/charges", headers={"Authorization": "Bearer " + os.environ["STRIPE_SECRET_KEY"]})
