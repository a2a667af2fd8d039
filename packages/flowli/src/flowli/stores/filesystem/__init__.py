"""``file:``: a bucket in a folder on disk."""
