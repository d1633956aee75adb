"""Does the time of everything that reads a user's text grow with the text, and no faster?"""
