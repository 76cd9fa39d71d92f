"""Pages and the HTTP service: security, serving, the review page and the service of an index."""
