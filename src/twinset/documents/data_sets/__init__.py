"""Data sets of Hugging Face: the card of a folder, data sets and splits of a Python program."""
