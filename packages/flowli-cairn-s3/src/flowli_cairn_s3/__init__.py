"""Amazon S3 and compatible object storage as a bucket for flowli workflows."""
