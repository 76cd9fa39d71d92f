"""Numbers, plots and pages of a report."""
