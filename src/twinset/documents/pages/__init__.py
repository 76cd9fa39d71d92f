"""Web pages: the text of their main content, WARC files, and hosts."""
