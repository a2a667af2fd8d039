"""Azure Blob Storage as a bucket for flowli."""
