"""The table and the bucket of template.yaml, created at a local endpoint: what AWS gets is what we test."""

from pathlib import Path
from typing import Any

import boto3
import yaml

TEMPLATE = Path(__file__).parent.parent / "template.yaml"
TABLE = "drafthand"
BUCKET = "drafthand"
NOT_FOR_CREATE_TABLE = ("TimeToLiveSpecification", "PointInTimeRecoverySpecification", "SSESpecification")
"""Properties of the CloudFormation resource that are calls of their own in the API, or mean nothing locally."""


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short tags; what they stand for doesn't matter here."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


def table_properties() -> dict[str, Any]:
    template = yaml.load(TEMPLATE.read_text(), _Loader)
    properties: dict[str, Any] = template["Resources"]["Table"]["Properties"]
    return properties


def create(endpoint_url: str | None, table: str = TABLE, bucket: str = BUCKET) -> None:
    """Create what isn't there yet. Credentials and region come from the environment."""
    dynamodb = boto3.client("dynamodb", endpoint_url=endpoint_url)
    if table not in dynamodb.list_tables()["TableNames"]:
        properties = table_properties()
        ttl = properties["TimeToLiveSpecification"]
        settings = {key: value for key, value in properties.items() if key not in NOT_FOR_CREATE_TABLE}
        dynamodb.create_table(TableName=table, **settings)
        dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=ttl)
    s3 = boto3.client("s3", endpoint_url=endpoint_url)
    if bucket not in [each["Name"] for each in s3.list_buckets()["Buckets"]]:
        s3.create_bucket(Bucket=bucket)
