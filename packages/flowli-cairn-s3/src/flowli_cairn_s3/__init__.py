"""Amazon S3 and compatible services as a bucket for flowli."""
