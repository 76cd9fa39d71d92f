"""What a terminal shows: tables, curves, texts side by side."""
