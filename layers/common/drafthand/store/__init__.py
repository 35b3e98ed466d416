"""One table, one bucket, and what lies in them. Nothing outside this package imports boto3.

| pk | sk | holds |
| --- | --- | --- |
| SESSION#id | META | owner, title, host, model, counters, current script, active run |
| SESSION#id | MSG#000001 | one transcript message |
| SESSION#id | RUN#time#id | that the session had this run |
| SESSION#id | CALL#id | the rendezvous item: small, polled |
| SESSION#id | COMMAND#id, RESULT#id | its payloads |
| RUN#id | META, EVT#000001 | run state; chunk batches (they expire) |
| HOST#id | META, SLOT | the host; the one command that waits for it |
| SCRIPT#sha256 | BODY#owner | the exact bytes of a script |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from drafthand.store.blobs import Blobs
from drafthand.store.bodies import Bodies
from drafthand.store.hosts import Hosts
from drafthand.store.scripts import Scripts
from drafthand.store.sessions import Sessions
from drafthand.store.table import Table

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_s3 import S3Client


@dataclass(frozen=True)
class Store:
    table: Table
    blobs: Blobs
    bodies: Bodies
    sessions: Sessions
    hosts: Hosts
    scripts: Scripts


def open_store(table: str, bucket: str, endpoint_url: str | None = None) -> Store:
    """The store in the region and account of the environment, or at an endpoint that speaks DynamoDB and S3."""
    config = Config(
        retries={"mode": "standard", "max_attempts": 5},
        max_pool_connections=64,
        s3={"addressing_style": "path"} if endpoint_url else None,
    )
    session = boto3.session.Session()
    s3 = session.client("s3", endpoint_url=endpoint_url, config=config.merge(Config(signature_version="s3v4")))
    dynamodb = session.client("dynamodb", endpoint_url=endpoint_url, config=config)
    return store_over(dynamodb, s3, table, bucket)


def store_over(dynamodb: DynamoDBClient, s3: S3Client, table: str, bucket: str) -> Store:
    """The store in this table and bucket, through these clients of the SDK."""
    blobs = Blobs(s3, bucket)
    rows = Table(dynamodb, table)
    bodies = Bodies(blobs)
    return Store(rows, blobs, bodies, Sessions(rows, bodies), Hosts(rows), Scripts(rows))
