"""Files of sketches and codes: made, opened again, compared."""
