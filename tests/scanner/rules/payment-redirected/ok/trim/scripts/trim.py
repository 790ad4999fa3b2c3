import pyperclip

pyperclip.copy(pyperclip.paste().strip())
