"""The bucket: bytes under their content hash, each owner in a namespace of its own.

Nothing here is ever overwritten with other bytes, and a hash that somebody else stored is simply not there.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from drafthand.ids import sha256_hex

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

UPLOAD_VALID_S = 900
SHA256 = re.compile(r"[0-9a-f]{64}")
_ONE_YEAR = "private, max-age=31536000, immutable"


@dataclass(frozen=True)
class BlobInfo:
    bytes: int
    media_type: str


class Blobs:
    def __init__(self, client: S3Client, bucket: str) -> None:
        self.client = client
        self.bucket = bucket

    def _key(self, owner: str, sha256: str) -> str:
        return f"blobs/{owner}/{sha256}"

    def put(self, owner: str, data: bytes, media_type: str) -> str:
        """Store bytes; the sha256 they lie under."""
        sha256 = sha256_hex(data)
        if self.head(owner, sha256) is None:
            self.client.put_object(
                Bucket=self.bucket,
                Key=self._key(owner, sha256),
                Body=data,
                ContentType=media_type,
                CacheControl=_ONE_YEAR,
            )
        return sha256

    def head(self, owner: str, sha256: str) -> BlobInfo | None:
        """What lies under a hash; None where nothing does, as under what is no hash."""
        if not SHA256.fullmatch(sha256):
            return None
        try:
            answer = self.client.head_object(Bucket=self.bucket, Key=self._key(owner, sha256))
        except ClientError as error:
            if error.response["Error"]["Code"] in ("404", "NoSuchKey", "NotFound"):
                return None
            raise
        return BlobInfo(answer["ContentLength"], answer["ContentType"])

    def get(self, owner: str, sha256: str, offset: int = 0, limit: int | None = None) -> bytes | None:
        """The bytes, or `limit` of them from `offset`; None when there are none under this hash."""
        info = self.head(owner, sha256)
        if info is None:
            return None
        end = info.bytes if limit is None else min(info.bytes, offset + limit)
        if offset >= end:
            return b""
        answer = self.client.get_object(
            Bucket=self.bucket, Key=self._key(owner, sha256), Range=f"bytes={offset}-{end - 1}"
        )
        return answer["Body"].read()

    def upload(self, owner: str, sha256: str, media_type: str) -> tuple[str, dict[str, str]]:
        """A presigned PUT for exactly the bytes of this hash: (url, headers that must be sent), valid 15 minutes."""
        checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
        url = self.client.generate_presigned_url(
            "put_object",
            Params={
                "Bucket": self.bucket,
                "Key": self._key(owner, sha256),
                "ContentType": media_type,
                "ChecksumSHA256": checksum,
            },
            ExpiresIn=UPLOAD_VALID_S,
        )
        return url, {"Content-Type": media_type, "x-amz-checksum-sha256": checksum}
