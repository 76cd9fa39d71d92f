"""The section Deduplication of a data set card, as Markdown."""
