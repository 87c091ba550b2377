"""Requests to every listener of a bridge, as bytes, each with its valid responses."""

from __future__ import annotations

import dataclasses
import gzip
import json
import random
from dataclasses import dataclass
from typing import Any, Literal

from bridge.web.queries import ALLOWED
from hack.fuzz import reviews

Listener = Literal["webhook", "page", "probes"]
_METHODS = [
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "BREW",
    "get",
    "P O",
    "\x00",
    "X" * 9000,
]
_PATHS = [
    *(
        "/",
        "/admission",
        "/livez",
        "/readyz",
        "/readyz?verbose",
        "/metrics",
        "/api/topology",
        "/api/stream",
        "/api/changes",
    ),
    *(
        "/api/login",
        "/api/query/effective",
        "/api/query/../../v1/data",
        "/api/query/links",
        "/bundles/policy-bridge.tar.gz",
    ),
    *(
        "/bundles/policy-bridge-tokens.tar.gz",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/static/..%2f..%2f",
        "//",
        "/\\..\\..",
    ),
    *(
        "*",
        "http://other/livez",
        "/%",
        "/%zz",
        "/%00",
        "/?" + "a=b&" * 2000,
        "/" + "a" * 9000,
        "/ü",
        "/a b",
        "",
        "/app.js%00.html",
    ),
]
_PATHS += [
    *("/v1/effective", "/v1/effective?target=httproute/shop/cart", "/v1/effective?target=%00&watch=true"),
    *("/v1/effective?target=httproute/shop/cart&watch=true", "/v1/effective?target=a&target=b&watch=yes&policyKind=/"),
]
_HEADERS = [
    *(
        "X-A: b",
        "Host: evil.example",
        "Origin: http://evil.example",
        "Authorization: Bearer x",
        "Cookie: policy-bridge=x",
    ),
    *(
        "Expect: 100-continue",
        "Expect: the-impossible",
        "Upgrade: websocket",
        "Upgrade: h2c",
        'If-None-Match: "x"',
        "Range: bytes=0-1",
    ),
    *(
        "Prefer: modes=snapshot,delta;wait=1",
        "Prefer: wait=-1",
        "Prefer: wait=9999999999999999999999x",
        "Accept-Encoding: gzip;q=x",
    ),
    *(
        "Last-Event-ID: \xff\xfe",
        "X-Long: " + "y" * 9000,
        "X Bad: 1",
        ": nothing",
        "X-Nul: a\0b",
        "X-Folded: a\r\n b",
        "\xff: \xff",
    ),
    *("Content-Encoding: gzip", "Content-Encoding: deflate", "Content-Encoding: br", "Content-Encoding: zstd"),
    *(
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: x",
        "Content-Length: -1",
        "Content-Length: 5, 6",
    ),
    *(
        "Content-Length: 99999999999999999999",
        "Content-Length: 0x10",
        "Connection: keep-alive, Host",
        "Content-Type: \0",
    ),
]
_TYPES = [
    "application/json",
    "application/json; charset=utf-16",
    "application/json; charset=nonsense",
    "text/plain",
    "application/yaml",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "APPLICATION/JSON",
    "",
    ";",
    "application/jsonx",
]
_QUERIES = sorted(ALLOWED)
_KEYS = [
    "core/Service/shop/cart",
    "gateway.networking.k8s.io/Gateway/infra/public#https",
    "example.com/ColorPolicy/shop/cart",
    "",
    "/",
    "a/b",
    "core/Service/shop/cart#",
    "#",
    "a/b/c/d/e/f",
    "core/Namespace/-/shop",
    "x" * 5000,
    "core/Service/shop/cart#[0]",
    "core/Service/shop/cart@frontend",
    "\u0000/\u0000/\u0000/\u0000",
    "/a%20b",
    "/%2F%25/~1~01//..",
    "core/Service/shop/%2e%2e",
    "gateway.networking.k8s.io/Gateway/infra/public#%zz",
]
_NAMES = [
    "targets",
    "target",
    "policies",
    "policy",
    "policyKind",
    "sourceNamespace",
    "changes",
    "upsert",
    "delete",
    "host",
    "path",
    "port",
    "method",
    "headers",
    "query",
    "gateway",
    "root",
    "depth",
    "tallies",
    "objects",
    "kind",
    "constraints",
]
_ESCAPED = "spec: {rules: [{matches: [{path: {value: /a%20b%2F~1}}, {path: {value: '/%25'}}]}]}\n"
_MANIFESTS = [
    "",
    "---",
    "- a",
    "a: &a [*a]",
    "a: !!python/object/apply:os.system [id]",
    "a: 'unclosed",
    "\t",
    "%YAML 9.9\n---\n",
    "&a [" + "[" * 2000,
    "apiVersion: v1\nkind: Service\nmetadata: {name: x, namespace: shop}\nspec: {ports: [{port: 80}]}\n",
    "apiVersion: v1\nkind: Service\nmetadata: {name: x, namespace: shop}\nspec: 7\n",
    "apiVersion: v1\nkind: List\nitems: [{}, null, 1]\n",
    "apiVersion: example.com/v1\nkind: ColorPolicy\nmetadata: {name: p, namespace: shop}\nspec: {targetRefs: [1, null, {}]}\n",
    "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r, namespace: shop}\nspec: {rules: {a: b}, parentRefs: 'x'}\n",
    "apiVersion: [1]\nkind: {a: b}\nmetadata: 2020-01-01\n",
    "kind: Secret\napiVersion: v1\nmetadata: {name: s}\ndata: {a: !!binary '%%%'}\n",
    "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else 'x'}]" for i in range(9)),
    "? {a: b}\n: c\n",
    "a: !!timestamp {!!value x: y}",
    'a: !!int {!!value x: ""}',
    "apiVersion: v1\nkind: Service\nmetadata: {name: !!set {x}, namespace: !!omap [{a: 1}]}\n",
    "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{port: 80, targetPort: {}}]}\n",
    f"a: 0x{'f' * 5_000}",
    "\n".join(f"k{i}: &k{i} {{<<: [{', '.join([f'*k{i - 1}'] * 10) if i else '{a: 1}'}]}}" for i in range(20)),
    "{}" * 20_000,
    f"a: &a {'x' * 20_000}\nb: [{', '.join(['*a'] * 20_000)}]",
    "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r}\n" + _ESCAPED,
    "2020-01-01: .nan\n",
    "\x00",
    "\ufeff---\nkind: x\n",
]


_BOMB = gzip.compress(b"0" * (20 << 20), mtime=0)  # 20 MiB in 20 kB; the same each time


@dataclass(frozen=True)
class Sent:
    """One request: its listener, its bytes in the pieces that are sent, and the pause after each.

    `verdict` is what admission must answer (None: nothing is known); `never_allowed`, that it must not be admitted.
    """

    listener: Listener
    what: str
    pieces: tuple[bytes, ...]
    pause: float = 0.0
    verdict: bool | None = None
    never_allowed: bool = False
    uid: str = ""
    incomplete: bool = False  # the rest never comes


def request(seed: int, number: int) -> Sent:
    """Return the request of this number: the same for the same seed."""
    rng = random.Random(f"{seed}:{number}")
    sent = rng.choices([_good_review, _spoilt_review, _question, _paste, _http], [35, 25, 15, 7, 18])[0](rng)
    if rng.random() < 0.85 or len(sent.pieces[0]) < 4:
        return sent
    cut = _cut(rng, sent.pieces[0])
    if rng.random() < 0.7:
        return dataclasses.replace(sent, pieces=cut)
    return dataclasses.replace(sent, pieces=cut[:-1], incomplete=True)


def well_formed(path: str, body: bytes, method: str = "POST") -> bytes:
    """Return a valid request."""
    return _head(method, path, [f"Content-Length: {len(body)}", "Content-Type: application/json"]) + body


def _good_review(rng: random.Random) -> Sent:
    document = reviews.review(rng)
    body = json.dumps(document).encode()
    path = "/admission" + rng.choice(["", "?timeout=10s", "?timeout=1m30s", "?timeout=5s&a=b"])
    denied = reviews.must_be_denied(document)
    return Sent("webhook", "review", (well_formed(path, body),), verdict=not denied, uid=document["request"]["uid"])


def _spoilt_review(rng: random.Random) -> Sent:
    body = reviews.spoilt(rng)
    try:
        denied = reviews.must_be_denied(json.loads(body))
    except (ValueError, RecursionError):
        denied = False
    path = "/admission" + rng.choice(
        ["", "", "?timeout=", "?timeout=-1s", "?timeout=1", "?timeout=0.001s", "?timeout=99999h"]
    )
    return Sent("webhook", "spoilt review", (well_formed(path, body),), never_allowed=denied)


def _question(rng: random.Random) -> Sent:
    body = json.dumps({"input": _input(rng, 0)} if rng.random() < 0.9 else _any(rng)).encode("utf-8", "surrogatepass")
    path = f"/api/query/{rng.choice(_QUERIES)}"
    return Sent("page", f"query {path}", (well_formed(path, body),))


def _paste(rng: random.Random) -> Sent:
    documents = [rng.choice(_MANIFESTS) for _ in range(rng.randint(1, 3))]
    body = "\n---\n".join(documents).encode("utf-8", "surrogatepass")
    if rng.random() < 0.2:
        body = rng.randbytes(100) + body
    path = "/api/changes" + rng.choice(
        ["", "?delete=httproute/cart", "?delete=" + "x" * 3000, "?delete=%00", "?delete=a/b/c/d/e"]
    )
    return Sent("page", "pasted manifests", (well_formed(path, body),))


def _http(rng: random.Random) -> Sent:
    listener: Listener = rng.choice(["webhook", "webhook", "page", "page", "page", "probes"])
    body = rng.choice(
        [
            b"",
            b"{}",
            rng.randbytes(64),
            _BOMB,
            b"0" * (9 << 20),
            json.dumps(reviews.review(rng)).encode(),
        ]
    )
    headers = [rng.choice(_HEADERS) for _ in range(rng.choice([0, 1, 2, 3, 200]))]
    if rng.random() < 0.8:
        headers.append(f"Content-Type: {rng.choice(_TYPES)}")
    incomplete = False
    match rng.randint(0, 4):
        case 0:
            headers.append("Transfer-Encoding: chunked")
            body = _broken_chunks(rng, body)
        case 1:
            more = rng.choice([-5, 5, 1 << 20])
            headers.append(f"Content-Length: {max(0, len(body) + more)}")
            incomplete = more > 0 and rng.random() < 0.9
        case 2:
            pass
        case _:
            headers.append(f"Content-Length: {len(body)}")
    path = rng.choice(["/admission", *_PATHS]) if listener == "webhook" else rng.choice(_PATHS)
    data = (
        _head(
            rng.choice(["POST", "GET", *_METHODS]),
            path,
            headers,
            rng.choice(["HTTP/1.1"] * 8 + ["HTTP/1.0", "HTTP/9.9", "", "FTP/1"]),
        )
        + body
    )
    if rng.random() < 0.1:
        data = rng.choice(
            [
                rng.randbytes(300),
                b"\x16\x03\x01\x02",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                b"\r\n" * 500,
                b"GET /livez\r\n",
                data * 3,
            ]
        )
    incomplete = (incomplete or b"\r\n\r\n" not in data) and rng.random() < 0.9
    return Sent(listener, "http", (data,), pause=rng.choice([0, 0, 0, 0.02]), incomplete=incomplete)


def _head(method: str, path: str, headers: list[str], version: str = "HTTP/1.1") -> bytes:
    lines = [f"{method} {path} {version}", "Host: 127.0.0.1", *headers, "Connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")


def _broken_chunks(rng: random.Random, body: bytes) -> bytes:
    size = f"{len(body):x}".encode()
    end = rng.choice([b"0\r\n\r\n", b"0\r\n", b"", b"0\r\nTrailer: x\r\n\r\n", b"zz\r\n\r\n", b"-1\r\n\r\n"])
    size = rng.choice([size, size, b"ffffffffffffffffff", b"g", b"", b"-5", size + b";ext=" + b"x" * 9000])
    return size + b"\r\n" + body + rng.choice([b"\r\n", b"\r\n", b"", b"x"]) + end


def _cut(rng: random.Random, data: bytes) -> tuple[bytes, ...]:
    cuts = sorted(rng.randrange(len(data)) for _ in range(rng.randint(1, 3)))
    return tuple(data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True))


def _input(rng: random.Random, depth: int) -> Any:
    return {rng.choice(_NAMES): _value(rng, depth + 1) for _ in range(rng.randint(0, 4))}


def _value(rng: random.Random, depth: int) -> Any:
    drawn = rng.random()
    if drawn < 0.35:
        return rng.choice(_KEYS)
    if drawn < 0.6:
        return [rng.choice(_KEYS) for _ in range(rng.randint(0, 4))]
    if drawn < 0.8 or depth > 4:
        return _any(rng)
    if drawn < 0.9:
        return {
            "upsert": [reviews.review(rng)["request"]["object"], _any(rng)],
            "delete": [rng.choice(_KEYS), _any(rng)],
        }
    return _input(rng, depth)


def _any(rng: random.Random) -> Any:
    return rng.choice(
        [
            None,
            True,
            -1,
            65536,
            1e308,
            "",
            "x",
            [],
            {},
            [None],
            {"": ""},
            [[[[]]]],
            {"a": {"b": {"c": 1}}},
            "GET",
            80,
            "\ud800",
        ]
    )
