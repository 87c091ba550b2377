"""Requests to every listener of a bridge, as bytes, each with its valid responses: what hypothesis draws."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hypothesis import strategies as st

from bridge.web.queries import ALLOWED

Listener = Literal["webhook", "page", "probes"]
Draw = Callable[[st.SearchStrategy[Any]], Any]
WORDS: dict[str, list[Any]] = json.loads((Path(__file__).parent / "words.json").read_text())
DENIED = "denied by its label"
POLICY = f"""
package io.k8s.federation.admission

errors contains "{DENIED}" if input.metadata.labels.deny == "yes"

annotations["fuzz.example.com/seen"] := "yes"
"""
_BOMB = gzip.compress(b"0" * (20 << 20), mtime=0)  # 20 MiB in 20 kB
_LABELS: tuple[dict[str, str] | None, ...] = (
    {"deny": "yes"},
    {"deny": "yes", "a": "b"},
    {"deny": "no"},
    {"deny": "Yes"},
    {"a": "deny"},
    {},
    None,
)
_NUMBERS = (b"1e999999", b"9" * 5_000, b"-0", b"0x10", b"1.", b"00", b"-1e-400")
_EXPANDING = (  # manifests that take long to read
    f"a: 0x{'f' * 5_000}",
    "&a [" + "[" * 2_000,
    "{}" * 20_000,
    f"a: &a {'x' * 20_000}\nb: [{', '.join(['*a'] * 20_000)}]",
    "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else 'x'}]" for i in range(9)),
    "\n".join(f"k{i}: &k{i} {{<<: [{', '.join([f'*k{i - 1}'] * 10) if i else '{a: 1}'}]}}" for i in range(20)),
)


def words(name: str, *more: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for one of the words of this name, or of `more`."""
    return st.sampled_from([*WORDS[name], *more])


_NUMBERS_OF_JSON = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | _NUMBERS_OF_JSON | words("texts", "x" * 300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words("texts"), inner, max_size=3),
    max_leaves=8,
)


@dataclass(frozen=True)
class Sent:
    """One request: its listener, its bytes in the pieces that are sent, and the pause after each.

    `verdict` is what admission must answer (None: nothing is known); `never_allowed`, that it must not be admitted.
    """

    listener: Listener
    what: str
    pieces: tuple[bytes, ...] = field(repr=False)
    pause: float = 0.0
    verdict: bool | None = None
    never_allowed: bool = False
    uid: str = ""
    incomplete: bool = False  # the rest never comes


def well_formed(path: str, body: bytes, method: str = "POST") -> bytes:
    """Return a valid request."""
    return _head(method, path, [f"Content-Length: {len(body)}", "Content-Type: application/json"]) + body


@st.composite
def requests(draw: Draw) -> Sent:
    """Draw a request: most are whole, some come in pieces, and of some the rest never comes."""
    sent: Sent = draw(st.one_of(_good_reviews(), _spoilt_reviews(), _questions(), _pastes(), _raw()))
    data = sent.pieces[0]
    if len(data) < 4 or draw(st.integers(0, 6)):
        return sent
    cuts = sorted(draw(st.lists(st.integers(1, len(data) - 1), min_size=1, max_size=3)))
    pieces = tuple(data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True))
    if draw(st.booleans()):
        return dataclasses.replace(sent, pieces=pieces)
    return dataclasses.replace(sent, pieces=pieces[:-1], incomplete=True)


@st.composite
def _reviews(draw: Draw) -> dict[str, Any]:
    """Draw a review as an API server sends it, of a kind of which the shipped rules have nothing to say."""
    group, version, kind = draw(words("kinds"))
    operation = draw(st.sampled_from(["CREATE", "UPDATE", "UPDATE", "DELETE"]))
    name = draw(st.sampled_from(["cart", "", "a.b-c", "x" * 253]))
    obj, other = (draw(_objects(f"{group}/{version}".lstrip("/"), kind, name)) for _ in range(2))
    request = {
        "uid": draw(st.uuids()).hex,
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": f"{kind.lower()}s"},
        "operation": operation,
        "namespace": "shop",
        "userInfo": {"username": draw(words("texts")), "groups": ["system:authenticated"]},
        "dryRun": draw(st.booleans()),
        "object": None if operation == "DELETE" else obj,
        "oldObject": {"CREATE": None, "DELETE": obj}.get(operation, other),
    }
    request |= {"name": name} if name else {}
    request |= draw(st.sampled_from([{}] * 8 + [{"subResource": "status"}, {"subResource": "scale"}]))
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


@st.composite
def _objects(draw: Draw, api_version: str, kind: str, name: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "shop", "uid": "0f"}
    labels = draw(st.sampled_from(_LABELS))
    metadata |= {} if labels is None else {"labels": labels}
    annotations = st.dictionaries(words("texts").filter(bool), words("texts"))
    metadata |= draw(st.just({}) | st.fixed_dictionaries({"annotations": annotations}))
    more = draw(st.just({}) | st.fixed_dictionaries({"spec": st.dictionaries(words("texts"), JSON, max_size=5)}))
    large = {"data": {"large": "y" * (3 << 20)}} if draw(st.integers(0, 50)) == 50 else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more, **large}


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


@st.composite
def _good_reviews(draw: Draw) -> Sent:
    document = draw(_reviews())
    path = "/admission" + draw(st.sampled_from(["", "?timeout=10s", "?timeout=1m30s", "?timeout=5s&a=b"]))
    data = well_formed(path, json.dumps(document).encode())
    return Sent("webhook", "review", (data,), verdict=not must_be_denied(document), uid=document["request"]["uid"])


@st.composite
def _spoilt_reviews(draw: Draw) -> Sent:
    document = draw(_reviews())
    for _ in range(draw(st.integers(0, 2))):
        _spoil_a_node(draw, document)
    body = json.dumps(document, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    body = draw(st.just(body) | _spoilt(body))
    try:
        denied = must_be_denied(json.loads(body))
    except (ValueError, RecursionError):
        denied = False
    ends = ["", "", "?timeout=", "?timeout=-1s", "?timeout=1", "?timeout=0.001s", "?timeout=99999h"]
    path = "/admission" + draw(st.sampled_from(ends))
    return Sent("webhook", "spoilt review", (well_formed(path, body),), never_allowed=denied)


def _spoil_a_node(draw: Draw, node: Any) -> None:
    """Remove, rename or replace one value somewhere in a document."""
    while isinstance(node, dict | list) and node:
        place = draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        if isinstance(node[place], dict | list) and node[place] and draw(st.integers(0, 2)):
            node = node[place]
            continue
        match draw(st.integers(0, 3)):
            case 0:
                del node[place]
            case 1 if isinstance(node, dict):
                node[draw(words("texts"))] = node.pop(place)
            case _:
                node[place] = draw(JSON)
        return


def _spoilt(body: bytes) -> st.SearchStrategy[bytes]:
    """Return a strategy for bodies that are no valid review any more, or one in another form."""
    text = body.decode("utf-8", "replace")
    places = st.integers(0, len(body))
    inserted = st.sampled_from([b"\0", b"\xff\xfe", b"{", b"}", b"]", b",", b'"', b"NaN", b"\xc3"])
    keys = st.sampled_from([b'"request"', b'"object"', b'"metadata"', b'"labels"', b'"uid"', b'"kind"'])
    depths = st.sampled_from([100, 1_000, 9_000, 11_000, 200_000])
    return st.one_of(
        st.builds(lambda place: body[:place], places),
        st.builds(lambda place, new: body[:place] + new + body[place:], places, inserted | st.binary(max_size=9)),
        st.builds(lambda place, new: body[:place] + new + body[place + 1 :], places, st.binary(min_size=1, max_size=1)),
        st.builds(lambda between: body + between + body, st.sampled_from([b"", b" ", b"\n", b"\0"])),
        st.builds(
            lambda depth: body.replace(b'"metadata"', b'"a":' + b"[" * depth + b"]" * depth + b',"metadata"', 1), depths
        ),
        st.builds(lambda depth: body.replace(b'"metadata"', b'"a":' + b'{"a":' * depth + b',"metadata"', 1), depths),
        st.builds(text.encode, st.sampled_from(["utf-16", "utf-32", "utf-8-sig", "utf-7"])),
        st.builds(
            lambda key, new: body.replace(key, key + b":" + new + b"," + key, 1),
            keys,
            st.sampled_from([b"null", b"{}"]),
        ),
        st.builds(
            lambda number: body.replace(b'"dryRun": ', b'"n": ' + number + b', "dryRun": ', 1),
            st.sampled_from(_NUMBERS),
        ),
        st.sampled_from([b"", b"null", b"[]", b"{}", b"1", b'"AdmissionReview"', b"\0" * 64, b"<xml/>", b"a: yaml"]),
    )


@st.composite
def _questions(draw: Draw) -> Sent:
    keys = words("keys", "x" * 5_000)
    change = st.fixed_dictionaries({"upsert": st.lists(JSON, max_size=2), "delete": st.lists(keys, max_size=2)})
    values = keys | st.lists(keys, max_size=4) | JSON | change
    body = draw(st.fixed_dictionaries({"input": st.dictionaries(words("fields"), values, max_size=4)}) | JSON)
    path = f"/api/query/{draw(st.sampled_from(sorted(ALLOWED)))}"
    return Sent("page", f"query {path}", (well_formed(path, json.dumps(body).encode("utf-8", "surrogatepass")),))


@st.composite
def _pastes(draw: Draw) -> Sent:
    documents = draw(st.lists(words("manifests", *_EXPANDING), min_size=1, max_size=3))
    body = "\n---\n".join(documents).encode("utf-8", "surrogatepass")
    ends = ["", "?delete=httproute/cart", "?delete=" + "x" * 3_000, "?delete=%00", "?delete=a/b/c/d/e"]
    data = well_formed(
        "/api/changes" + draw(st.sampled_from(ends)), draw(st.just(b"") | st.binary(max_size=100)) + body
    )
    return Sent("page", "pasted manifests", (data,))


@st.composite
def _raw(draw: Draw) -> Sent:
    """Draw HTTP that is wrong in its head, its lengths, its encodings, or in all of it."""
    listener: Listener = draw(st.sampled_from(["webhook", "page", "page", "probes"]))
    body = draw(st.sampled_from([b"", b"{}", _BOMB, b"0" * (9 << 20)]) | st.binary(max_size=64))
    headers = draw(st.lists(words("headers", "X-Long: " + "y" * 9_000), max_size=3)) * draw(
        st.sampled_from([1, 1, 1, 60])
    )
    headers += draw(st.lists(words("content_types").map("Content-Type: {}".format), max_size=1))
    incomplete = False
    match draw(st.integers(0, 4)):
        case 0:
            headers.append("Transfer-Encoding: chunked")
            body = _broken_chunks(draw, body)
        case 1:
            more = draw(st.sampled_from([-5, 5, 1 << 20]))
            headers.append(f"Content-Length: {max(0, len(body) + more)}")
            incomplete = more > 0
        case 2:
            pass
        case _:
            headers.append(f"Content-Length: {len(body)}")
    method = draw(st.sampled_from(["POST", "GET"]) | words("methods", "X" * 9_000))
    path = draw(words("paths", "/admission", "/?" + "a=b&" * 2_000, "/" + "a" * 9_000))
    version = draw(st.sampled_from(["HTTP/1.1"] * 8 + ["HTTP/1.0", "HTTP/9.9", "", "FTP/1"]))
    data = _head(method, path, headers, version) + body
    garbage = [b"\x16\x03\x01\x02", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\r\n" * 500, b"GET /livez\r\n", data * 3]
    if not draw(st.integers(0, 9)):
        data = draw(st.sampled_from(garbage) | st.binary(max_size=300))
    pause = draw(st.sampled_from([0, 0, 0, 0.02]))
    return Sent(listener, "http", (data,), pause=pause, incomplete=incomplete or b"\r\n\r\n" not in data)


def _broken_chunks(draw: Draw, body: bytes) -> bytes:
    size = f"{len(body):x}".encode()
    wrong = [b"ffffffffffffffffff", b"g", b"", b"-5", size + b";ext=" + b"x" * 9_000]
    ends = [b"0\r\n\r\n", b"0\r\n", b"", b"0\r\nTrailer: x\r\n\r\n", b"zz\r\n\r\n", b"-1\r\n\r\n"]
    size = draw(st.sampled_from([size, size, *wrong]))
    return bytes(size + b"\r\n" + body + draw(st.sampled_from([b"\r\n", b"", b"x"])) + draw(st.sampled_from(ends)))


def _head(method: str, path: str, headers: list[str], version: str = "HTTP/1.1") -> bytes:
    lines = [f"{method} {path} {version}", "Host: 127.0.0.1", *headers, "Connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")
