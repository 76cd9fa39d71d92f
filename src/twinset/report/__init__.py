"""Numbers, plots and pages that are handed over."""
