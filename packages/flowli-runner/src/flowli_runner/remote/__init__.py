"""Working through the HTTP service, where the bucket cannot be reached; needs ``flowli-api``."""
