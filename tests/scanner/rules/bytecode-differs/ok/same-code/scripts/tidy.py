import os


def tidy(folder):
    """Tidy a folder."""
    for name in os.listdir(folder):
        print("found", name)


tidy("notes")
