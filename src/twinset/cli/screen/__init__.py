"""Output on a terminal: tables, curves, texts side by side."""
