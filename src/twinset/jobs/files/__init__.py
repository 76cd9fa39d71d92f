"""Jobs that read a file and write a file, for the command line: what they do is a function of Python objects, too."""
