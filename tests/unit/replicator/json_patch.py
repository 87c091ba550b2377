"""A strict little interpreter of the JSON Patch (RFC 6902) that the replicator sends."""

import copy
from typing import Any

import msgspec

from bridge.model.keys import segments_of
from bridge.replicator.documents import Operation


def applied(document: dict[str, Any], operations: list[Operation]) -> dict[str, Any]:
    """The document after the operations. Raises KeyError where OPA would refuse one."""
    result = copy.deepcopy(document)
    for operation in operations:
        *above, name = segments_of(operation["path"])
        holder = result
        for segment in above:
            holder = holder[segment]
        match operation["op"]:
            case "add":
                holder[name] = msgspec.json.decode(msgspec.json.encode(operation["value"]))
            case "remove":
                del holder[name]
            case other:
                raise KeyError(other)
    return result
