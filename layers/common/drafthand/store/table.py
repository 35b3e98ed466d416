"""The single DynamoDB table: few verbs, conditions as plain equality, items as plain dicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from botocore.exceptions import ClientError

from drafthand.errors import ConditionFailed

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

Item = dict[str, Any]
PK_MAX_BYTES, SK_MAX_BYTES = 2048, 1024
"""DynamoDB's limits of a partition and a sort key."""


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()
"""In `expect`: the attribute must not exist."""


@dataclass(frozen=True)
class In:
    """In `expect`: the attribute must be one of these."""

    options: tuple[Any, ...]

    def __init__(self, *options: Any) -> None:
        object.__setattr__(self, "options", options)


Expect = Mapping[str, Any]


@dataclass(frozen=True)
class Put:
    """Write a whole item; `expect` holds for the item it replaces ({"pk": ABSENT}: there must be none)."""

    item: Item
    expect: Expect = field(default_factory=dict)


@dataclass(frozen=True)
class Update:
    """Set, remove or add to attributes of one item."""

    pk: str
    sk: str
    set: Mapping[str, Any] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    add: Mapping[str, int] = field(default_factory=dict)
    expect: Expect = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """Write nothing; `expect` must hold for the others of the transaction to be written."""

    pk: str
    sk: str
    expect: Expect


@dataclass(frozen=True)
class Delete:
    pk: str
    sk: str
    expect: Expect = field(default_factory=dict)


Write = Put | Update | Delete | Check


class Table:
    """Thread-safe, as boto3's clients are."""

    def __init__(self, client: DynamoDBClient, name: str) -> None:
        self.client = client
        self.name = name

    def get(self, pk: str, sk: str, *, consistent: bool = True) -> Item | None:
        """The item; None where there is none, as under a key longer than DynamoDB takes."""
        if len(pk.encode()) > PK_MAX_BYTES or len(sk.encode()) > SK_MAX_BYTES:
            return None
        answer = self.client.get_item(TableName=self.name, Key=_encode({"pk": pk, "sk": sk}), ConsistentRead=consistent)
        return _decode(answer["Item"]) if "Item" in answer else None

    def query(self, pk: str, prefix: str, *, after: str | None = None) -> Iterator[Item]:
        """Items of one partition whose sk begins with `prefix` and lies after `after`, ascending, as last written."""
        if after is None:
            condition, values = "pk = :pk AND begins_with(sk, :sk)", {":pk": pk, ":sk": prefix}
        else:
            # U+FFFF closes the range: begins_with and > can't be joined in one key condition.
            condition = "pk = :pk AND sk BETWEEN :after AND :last"
            values = {":pk": pk, ":after": after + "\x00", ":last": prefix + "\uffff"}
        yield from self._query(KeyConditionExpression=condition, ExpressionAttributeValues=values, ConsistentRead=True)

    def query_owned(self, owner: str, prefix: str) -> Iterator[Item]:
        """Items that list `owner` in the `owned` index, newest first."""
        condition, values = "gpk = :pk AND begins_with(gsk, :sk)", {":pk": f"OWNER#{owner}", ":sk": prefix}
        yield from self._query(
            IndexName="owned",
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            ScanIndexForward=False,
        )

    def _query(self, **arguments: Any) -> Iterator[Item]:
        arguments["ExpressionAttributeValues"] = _encode(arguments["ExpressionAttributeValues"])
        for page in self.client.get_paginator("query").paginate(TableName=self.name, **arguments):
            for item in page["Items"]:
                yield _decode(item)

    def write(self, write: Write) -> None:
        """One write.

        Raises:
            ConditionFailed: the item is not as expected; nothing was written.
        """
        ((verb, request),) = _request(self.name, write).items()
        call = {"Put": self.client.put_item, "Update": self.client.update_item, "Delete": self.client.delete_item}[verb]
        _settle(lambda: call(**request))  # type: ignore[operator]

    def last(self, pk: str, prefix: str) -> Item | None:
        """The item of one partition whose sk begins with `prefix` and is the greatest; None where there is none."""
        answer = self.client.query(
            TableName=self.name,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
            ExpressionAttributeValues=_encode({":pk": pk, ":sk": prefix}),
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=1,
        )
        return _decode(answer["Items"][0]) if answer["Items"] else None

    def transact(self, *writes: Write) -> None:
        """All writes or none.

        Raises:
            ConditionFailed: one item is not as expected; nothing was written.
        """
        requests = [_request(self.name, write) for write in writes]
        _settle(lambda: self.client.transact_write_items(TransactItems=requests))  # type: ignore[arg-type]


CONFLICT_PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.4)


def _settle(call: Callable[[], object]) -> None:
    """Make the call; again after a pause where another transaction was writing the same item at that moment.

    Raises:
        ConditionFailed: an item is not as expected.
    """
    for pause in (*CONFLICT_PAUSES_S, None):
        try:
            call()
        except ClientError as error:
            code = error.response["Error"]["Code"]
            reasons = {reason.get("Code") for reason in error.response.get("CancellationReasons", [])}
            if code == "ConditionalCheckFailedException" or "ConditionalCheckFailed" in reasons:
                raise ConditionFailed(str(error)) from error
            if pause is None or not (code == "TransactionConflictException" or "TransactionConflict" in reasons):
                raise
            time.sleep(pause)
        else:
            return


def _request(table: str, write: Write) -> dict[str, dict[str, Any]]:
    names: dict[str, str] = {}
    values: dict[str, Any] = {}

    def name(attribute: str) -> str:
        names[f"#{attribute}"] = attribute
        return f"#{attribute}"

    def value(item: Any) -> str:
        values[f":v{len(values)}"] = item
        return f":v{len(values) - 1}"

    request: dict[str, Any] = {"TableName": table}
    if isinstance(write, Put):
        request["Item"] = _encode(write.item)
    else:
        request["Key"] = _encode({"pk": write.pk, "sk": write.sk})
    if isinstance(write, Update):
        clauses = {
            "SET": [f"{name(key)} = {value(item)}" for key, item in write.set.items()],
            "REMOVE": [name(key) for key in write.remove],
            "ADD": [f"{name(key)} {value(item)}" for key, item in write.add.items()],
        }
        request["UpdateExpression"] = " ".join(f"{verb} {', '.join(each)}" for verb, each in clauses.items() if each)
    conditions = []
    for key, expected in write.expect.items():
        if expected is ABSENT:
            conditions.append(f"attribute_not_exists({name(key)})")
        elif isinstance(expected, In):
            conditions.append(f"{name(key)} IN ({', '.join(value(option) for option in expected.options)})")
        else:
            conditions.append(f"{name(key)} = {value(expected)}")
    if conditions:
        request["ConditionExpression"] = " AND ".join(conditions)
    if names:
        request["ExpressionAttributeNames"] = names
    if values:
        request["ExpressionAttributeValues"] = _encode(values)
    return {"ConditionCheck" if isinstance(write, Check) else type(write).__name__: request}


_serializer = TypeSerializer()
_deserializer = TypeDeserializer()


def _encode(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _serializer.serialize(_to_dynamo(value)) for key, value in item.items()}


def _decode(item: Mapping[str, Any]) -> Item:
    return {key: _from_dynamo(_deserializer.deserialize(value)) for key, value in item.items()}


def _to_dynamo(value: Any) -> Any:
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {key: _to_dynamo(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_dynamo(item) for item in value]
    return value


def _from_dynamo(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Binary):
        return bytes(value)  # type: ignore[call-overload]  # its __bytes__ is missing from the stubs
    if isinstance(value, dict):
        return {key: _from_dynamo(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_from_dynamo(item) for item in value]
    return value
