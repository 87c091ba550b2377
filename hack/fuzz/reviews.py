"""Valid and invalid AdmissionReviews, with their valid responses."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

DENIED = "denied by its label"
POLICY = f"""
package io.k8s.federation.admission

errors contains "{DENIED}" if input.metadata.labels.deny == "yes"

annotations["fuzz.example.com/seen"] := "yes"
"""
# Kinds of which the shipped rules have nothing to say, so that the label alone decides.
_KINDS = [
    ("", "v1", "ConfigMap"),
    ("", "v1", "Secret"),
    ("apps", "v1", "Deployment"),
    ("gateway.networking.k8s.io", "v1", "HTTPRoute"),
    ("gateway.networking.k8s.io", "v1", "Gateway"),
    ("widgets.example.org", "v1beta1", "Widget"),
]
_TEXTS = [
    "",
    "a",
    "cart",
    "ünï-cödé",
    "名前",
    "a/b",
    "~0~1",
    "..",
    "%2e",
    "x" * 300,
    "\u0000",
    "\n",
    '"',
    "\U0001f600",
    "null",
]
_VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    10**40,
    0.1,
    "",
    "yes",
    [],
    {},
    [[]],
    {"a": None},
    "\ud7ff",
    ["yes"],
    {"deny": "yes"},
]


def review(rng: random.Random) -> dict[str, Any]:
    """Return a review as an API server sends it."""
    group, version, kind = rng.choice(_KINDS)
    operation = rng.choice(["CREATE", "UPDATE", "UPDATE", "DELETE"])
    name = rng.choice(["cart", "", "a.b-c", "x" * 253])
    obj = _object(rng, f"{group}/{version}" if group else version, kind, name)
    request: dict[str, Any] = {
        "uid": f"{rng.getrandbits(128):032x}",
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": f"{kind.lower()}s"},
        "operation": operation,
        "namespace": "shop",
        "userInfo": {"username": rng.choice(_TEXTS), "groups": ["system:authenticated"]},
        "dryRun": rng.random() < 0.5,
        "object": None if operation == "DELETE" else obj,
        "oldObject": None
        if operation == "CREATE"
        else (obj if operation == "DELETE" else _object(rng, "v1", kind, name)),
    }
    if name:
        request["name"] = name
    if rng.random() < 0.1:
        request["subResource"] = rng.choice(["status", "scale"])
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def must_be_denied(document: Any) -> bool:
    """Return whether the policy denies the object of a review, also of an invalid one."""
    request = document.get("request") if isinstance(document, dict) else None
    if not isinstance(request, dict):
        return False
    kind = request.get("kind")
    if isinstance(kind, dict) and kind.get("group") == "policybridge.io":
        return False
    if request.get("operation") == "UPDATE" and request.get("subResource") in {"status", "finalize"}:
        return False  # a report has nothing for a decision
    found: Any = request.get("object")
    if found is None:
        found = request.get("oldObject")
    for name in ("metadata", "labels", "deny"):
        found = found.get(name) if isinstance(found, dict) else None
    return bool(found == "yes")


def spoilt(rng: random.Random) -> bytes:
    """Return an invalid review."""
    document = review(rng)
    if rng.random() < 0.5:
        for _ in range(rng.randint(1, 3)):
            _spoil_a_node(rng, document)
        return _written(rng, document)
    return rng.choice(_SPOILERS)(rng, _written(rng, document))


def _object(rng: random.Random, api_version: str, kind: str, name: str) -> dict[str, Any]:
    labels = rng.choice(
        [{"deny": "yes"}, {"deny": "yes", "a": "b"}, {"deny": "no"}, {"deny": "Yes"}, {"a": "deny"}, {}, None]
    )
    metadata: dict[str, Any] = {"name": name, "namespace": "shop", "uid": f"{rng.getrandbits(64):x}"}
    if labels is not None:
        metadata["labels"] = labels
    if rng.random() < 0.3:
        metadata["annotations"] = {rng.choice(_TEXTS) or "a": rng.choice(_TEXTS)}
    obj: dict[str, Any] = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    if rng.random() < 0.5:
        obj["spec"] = {rng.choice(_TEXTS): copy.deepcopy(rng.choice(_VALUES)) for _ in range(rng.randint(0, 5))}
    if rng.random() < 0.02:
        obj["data"] = {"large": "y" * rng.randint(1 << 16, 3 << 20)}
    return obj


def _written(rng: random.Random, document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def _spoil_a_node(rng: random.Random, document: Any) -> None:
    node = document
    while True:
        keys: list[Any] = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(node[key], (dict, list)) and node[key] and rng.random() < 0.7:
            node = node[key]
            continue
        match rng.randint(0, 3):
            case 0:
                del node[key]
            case 1 if isinstance(node, dict):
                node[rng.choice(_TEXTS)] = node.pop(key)
            case _:
                node[key] = copy.deepcopy(rng.choice(_VALUES))
        return


def _truncated(rng: random.Random, body: bytes) -> bytes:
    return body[: rng.randrange(len(body))]


def _flipped(rng: random.Random, body: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _inserted(rng: random.Random, body: bytes) -> bytes:
    at = rng.randrange(len(body))
    return (
        body[:at]
        + rng.choice([b"\0", b"\xff\xfe", b"{", b"}", b"]", b",", b'"', b"NaN", b"\xc3", rng.randbytes(9)])
        + body[at:]
    )


def _doubled(rng: random.Random, body: bytes) -> bytes:
    return body + rng.choice([b"", b" ", b"\n", b"\0"]) + body


def _nested(rng: random.Random, body: bytes) -> bytes:
    depth = rng.choice([100, 1_000, 9_000, 11_000, 200_000])
    opening, closing = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    inner = opening * depth + b"1" + (closing * depth if rng.random() < 0.7 else b"")
    return body.replace(b'"metadata"', b'"deep": ' + inner + b', "metadata"', 1)


def _other_encoding(rng: random.Random, body: bytes) -> bytes:
    text = body.decode("utf-8", "replace")
    return text.encode(rng.choice(["utf-16", "utf-32", "utf-8-sig", "utf-7", "cp037"]), "replace")


def _repeated_key(rng: random.Random, body: bytes) -> bytes:
    key = rng.choice([b'"request"', b'"object"', b'"metadata"', b'"labels"', b'"uid"', b'"kind"'])
    return body.replace(key, key + b": " + rng.choice([b"null", b"{}", b'"x"', b"[]"]) + b", " + key, 1)


def _large_number(rng: random.Random, body: bytes) -> bytes:
    number = rng.choice([b"1e999999", b"9" * 5_000, b"-0", b"0x10", b"1.", b"00", b"-1e-400"])
    return body.replace(b'"dryRun": ', b'"number": ' + number + b', "dryRun": ', 1)


def _nothing(rng: random.Random, _: bytes) -> bytes:
    return rng.choice(
        [b"", b"null", b"[]", b"{}", b"1", b'"AdmissionReview"', b"\0" * 64, b"<xml/>", b"a: yaml", rng.randbytes(200)]
    )


_SPOILERS: list[Callable[[random.Random, bytes], bytes]] = [
    _truncated,
    _flipped,
    _inserted,
    _doubled,
    _nested,
    _other_encoding,
    _repeated_key,
    _large_number,
    _nothing,
]
