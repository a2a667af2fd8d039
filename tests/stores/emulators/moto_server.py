"""Amazon S3 as moto plays it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3

from .process import Server, free_port
from .service import BUCKET, Service

REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test-secret", "AWS_EC2_METADATA_DISABLED": "true"}


@contextmanager
def moto() -> Iterator[Service]:
    port = free_port()
    server = Server([sys.executable, Path(__file__).with_name("moto_app.py"), str(port)], port)
    try:
        service = Service("s3", port, f"s3://{BUCKET}/{{prefix}}?region={REGION}&endpoint_url={{origin}}", CREDENTIALS)
        client = boto3.client(
            "s3",
            endpoint_url=service.origin,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test-secret",
        )
        client.create_bucket(Bucket=BUCKET)
        client.close()
        yield service
    finally:
        server.stop()
