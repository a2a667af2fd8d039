"""Google Cloud Storage as a bucket for flowli."""
