"""Files of sketches and codes: write, read and compare them."""
