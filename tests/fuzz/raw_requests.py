"""Requests to every listener of a bridge, as bytes, each with its valid responses: what hypothesis draws."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hypothesis import strategies as st

from bridge.web.queries import ALLOWED
from tests.fuzz.splices import spliced

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
_EXPANDING = (  # manifests that take long to read
    f"a: 0x{'f' * 5_000}",
    "&a [" + "[" * 2_000,
    "{}" * 20_000,
    f"a: &a {'x' * 20_000}\nb: [{', '.join(['*a'] * 20_000)}]",
    "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else 'x'}]" for i in range(9)),
    "\n".join(f"k{i}: &k{i} {{<<: [{', '.join([f'*k{i - 1}'] * 10) if i else '{a: 1}'}]}}" for i in range(20)),
)
_OF_REVIEWS = (  # pieces of bodies
    *(b'"request":null,', b'"object":{},', b'"labels":{},', b"NaN", b"1e999999", b"9" * 5_000, b"-0", b"00"),
    *(b'"a":' + b"[" * depth + b"]" * depth + b"," for depth in (100, 9_000, 200_000)),
)
_OF_HTTP = (  # pieces of heads, and of bodies in chunks
    *(b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"Content-Length: -5\r\n", b"HTTP/9.9", b"HTTP/1.0"),
    *(b"\r\n\r\n", b"\r\n" * 500, b"5\r\nabcde\r\n", b"0\r\n\r\n", b"g\r\n", b"ffffffffffffffffff\r\n", b"5;ext=x\r\n"),
    *(b"\x16\x03\x01\x02", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"X-Long: " + b"y" * 9_000, b"/?" + b"a=b&" * 2_000),
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
    """One request, as bytes for a listener.

    `verdict` is what admission must answer (None: nothing is known); `never_allowed`, that it must not be admitted;
    `is_broken`, that the bridge may wait for a rest that never comes.
    """

    listener: Listener
    what: str
    data: bytes = field(repr=False)
    verdict: bool | None = None
    never_allowed: bool = False
    uid: str = ""
    is_broken: bool = False


def well_formed(path: str, body: bytes, method: str = "POST", *headers: str) -> bytes:
    """Return a valid request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers, f"Content-Length: {len(body)}"]
    head = "\r\n".join([*lines, "Content-Type: application/json", "Connection: close"])
    return f"{head}\r\n\r\n".encode("utf-8", "replace") + body


def requests() -> st.SearchStrategy[Sent]:
    """Return a strategy for requests, valid and invalid ones."""
    return st.one_of(_good_reviews(), _spoilt_reviews(), _queries(), _pastes(), _broken_http())


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
    metadata |= draw(st.fixed_dictionaries({}, optional={"labels": _LABELS, "annotations": _ANNOTATIONS}))
    spec = st.dictionaries(words("texts"), JSON, max_size=5)
    more = draw(st.fixed_dictionaries({}, optional={"spec": spec}))
    large = {"data": {"large": "y" * (3 << 20)}} if draw(st.integers(0, 50)) == 50 else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more, **large}


_LABELS = st.fixed_dictionaries(
    {}, optional={"deny": st.sampled_from(["yes", "yes", "no", "Yes"]), "a": words("texts")}
)
_ANNOTATIONS = st.dictionaries(words("texts").filter(bool), words("texts"))


def must_be_denied(document: Any) -> bool:
    """Return whether the policy denies the object of a review, also of an invalid one."""
    request = document.get("request") if isinstance(document, dict) else None
    if not isinstance(request, dict):
        return False
    kind = request.get("kind")
    group, name = (kind.get("group"), kind.get("kind")) if isinstance(kind, dict) else ("", "")
    if group == "policybridge.io":
        return False
    if request.get("operation") == "UPDATE" and request.get("subResource") in {"status", "finalize"}:
        return False  # a report has nothing for a decision
    if request.get("operation") == "DELETE" and (group == "gateway.networking.k8s.io" or str(name).endswith("Policy")):
        return False  # only guardrails decide about these
    found: Any = request.get("object")
    if found is None:
        found = request.get("oldObject")
    for part in ("metadata", "labels", "deny"):
        found = found.get(part) if isinstance(found, dict) else None
    return bool(found == "yes")


@st.composite
def _good_reviews(draw: Draw) -> Sent:
    document = draw(_reviews())
    path = "/admission" + draw(st.sampled_from(["", "?timeout=10s", "?timeout=1m30s", "?timeout=5s&a=b"]))
    data = well_formed(path, json.dumps(document).encode())
    return Sent("webhook", "review", data, verdict=not must_be_denied(document), uid=document["request"]["uid"])


@st.composite
def _spoilt_reviews(draw: Draw) -> Sent:
    document = draw(_reviews())
    for _ in range(draw(st.integers(0, 2))):
        _spoil_a_node(draw, document)
    text = json.dumps(document, ensure_ascii=draw(st.booleans()))
    encoding = draw(st.sampled_from(["utf-8"] * 8 + ["utf-16", "utf-32", "utf-8-sig"]))
    body = draw(spliced(st.just(text.encode(encoding, "surrogatepass")), _OF_REVIEWS, most=2))
    try:
        denied = must_be_denied(json.loads(body))
    except (ValueError, RecursionError):
        denied = False
    ends = ["", "", "?timeout=", "?timeout=-1s", "?timeout=1", "?timeout=0.001s", "?timeout=99999h"]
    path = "/admission" + draw(st.sampled_from(ends))
    return Sent("webhook", "spoilt review", well_formed(path, body), never_allowed=denied)


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


@st.composite
def _queries(draw: Draw) -> Sent:
    keys = words("keys", "x" * 5_000)
    change = st.fixed_dictionaries({"upsert": st.lists(JSON, max_size=2), "delete": st.lists(keys, max_size=2)})
    values = keys | st.lists(keys, max_size=4) | JSON | change
    body = draw(st.fixed_dictionaries({"input": st.dictionaries(words("fields"), values, max_size=4)}) | JSON)
    path = f"/api/query/{draw(st.sampled_from(sorted(ALLOWED)))}"
    return Sent("page", f"query {path}", well_formed(path, json.dumps(body).encode("utf-8", "surrogatepass")))


@st.composite
def _pastes(draw: Draw) -> Sent:
    documents = draw(st.lists(words("manifests", *_EXPANDING), min_size=1, max_size=3))
    body = draw(spliced(st.just("\n---\n".join(documents).encode("utf-8", "surrogatepass")), most=1))
    ends = ["", "?delete=httproute/cart", "?delete=" + "x" * 3_000, "?delete=%00", "?delete=a/b/c/d/e"]
    return Sent("page", "pasted manifests", well_formed("/api/changes" + draw(st.sampled_from(ends)), body))


@st.composite
def _broken_http(draw: Draw) -> Sent:
    """Draw HTTP that is wrong in its head, its lengths, its encodings, or in all of it."""
    body = draw(st.sampled_from([b"", b"{}", _BOMB, b"0" * (9 << 20)]) | st.binary(max_size=64))
    headers = draw(st.lists(words("headers"), max_size=3)) * draw(st.sampled_from([1, 1, 1, 60]))
    path = draw(words("paths", "/admission", "/" + "a" * 9_000))
    method = draw(st.sampled_from(["POST", "GET"]) | words("methods", "X" * 9_000))
    data = draw(spliced(st.just(well_formed(path, body, method, *headers)), _OF_HTTP, most=3))
    cut = draw(st.integers(0, 3 * len(data)))  # of some the rest never comes
    return Sent(draw(st.sampled_from(["webhook", "page", "page", "probes"])), "http", data[: cut or 1], is_broken=True)
