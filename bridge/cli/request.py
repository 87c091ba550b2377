"""`pbctl request`: find the rule that serves a request, its backends, and the effective policies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from bridge.cli.blame import FIELD, field_names, line_options
from bridge.cli.command import option
from bridge.cli.effective import effective_table
from bridge.cli.notation import proxy_lines
from bridge.cli.options import completing, namespace_option, words
from bridge.cli.output import Answer
from bridge.cli.read_commands import read_command
from bridge.cli.reading import Asked
from bridge.cli.table import Block, Fields, Table
from bridge.model.keys import parse_key
from bridge.queries.names import CommandError, short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.queries.asking import Entry

NOT_ANSWERED = 1  # exit code
_PROTOCOLS = {"http": "HTTP", "https": "HTTPS", "grpc": "GRPC"}  # by the scheme of a URL


def _check(asked: Asked) -> Sequence[str]:
    _query_inputs(asked)
    return ()


QUERIES = ("proxy_commands", "request")  # that the command sends


@read_command(
    "Show the rule and the policies for requests",
    words("[URL]..."),
    option("--host", metavar="HOST", help="The hostname."),
    option("--path", metavar="PATH", help="The path, with or without a query. Default: /."),
    option("--method", metavar="METHOD", help="Default: GET."),
    option("--header", "headers", metavar="NAME=VALUE", multiple=True, help="A header. Repeatable."),
    option("--query", metavar="NAME=VALUE", multiple=True, help="A query parameter. Repeatable."),
    option("--grpc", metavar="SERVICE/METHOD", help="A gRPC call, instead of path and method."),
    option("--sni", metavar="HOST", help="The server name of a TLS connection that is passed through."),
    option(
        "--protocol",
        type=click.Choice(["HTTP", "HTTPS", "GRPC", "TLS", "TCP", "UDP"], case_sensitive=False),
        help="Default: from the other options; with only --port, TCP.",
    ),
    option("--port", type=click.IntRange(1, 65535), help="The listener's port. Default: any."),
    option(
        "--gateway",
        shell_complete=completing("gateways"),
        metavar="GATEWAY",
        help="[NAMESPACE/]NAME of the Gateway, or svc/NAME for a request in a mesh. Default: any Gateway.",
    ),
    namespace_option("-n", "--namespace", about="The namespace of a --gateway without one."),
    option("--from-log", metavar="LINE", help="Host, path and method of this line of a proxy's access log, as JSON."),
    FIELD,
    namespace_option("--source-namespace", about="The namespace of the client, in a mesh."),
    queries=QUERIES,
    check=_check,
)
async def request(engine: Engine, asked: Asked) -> Answer:
    """Find the rule that serves each request, by Gateway API's precedence, and the effective policies for it.

    Shows the listener, the route and the rule, the backends with their weights, the filters, and the effective policy
    of every policy kind. If no rule serves the request, shows how far it gets and the nearest rules. The exit code is 1
    then, and if every such request fails.

    URL is http://, https:// or grpc://HOST[:PORT][/PATH][?QUERY]; options replace its parts. The port is used only
    if the URL contains it.

    Without --port or --gateway the command shows the listener with the most specific hostname that has a rule for the
    request, and names the others. With several URLs the exit code is 1 if one of them is not served.

    Examples:
        # Find the rule that serves a page
        pbctl request https://shop.example.com/cart --manifests examples/shop
        # Two requests with one start
        pbctl request https://shop.example.com/cart https://blog.example.com/ --manifests examples/shop
        # The same with options
        pbctl request --host shop.example.com --path /cart --manifests examples/shop
        # A request to one port of one Gateway, with a header and a query
        pbctl request --host shop.example.com --path '/cart?beta=1' --header x-user=ann --gateway public --port 443
        # A gRPC call
        pbctl request --host api.example.com --grpc shop.Cart/Add
        # A TLS connection by its SNI; a TCP connection by its port
        pbctl request --sni db.example.com
        # A mesh request to a Service
        pbctl request --gateway svc/cart --path /cart --source-namespace blog
    """
    from bridge.queries.asking import entry_gateway, proxy_commands

    gateway = asked.more["gateway"]
    more: Entry = {"gateway": str(await entry_gateway(engine.opa, gateway, asked.namespace))} if gateway else {}
    more |= {} if asked.wants_document else {"fields": True}
    found: list[Entry] = [await engine.opa.query("request", {**one, **more}) for one in _query_inputs(asked)]
    titles = asked.words if len(found) > 1 else ("",)
    serving = [parse_key(one["gateway"]) for one in found if one["rule"] and one["gateway"]]
    commands = await proxy_commands(engine.opa, serving)
    return Answer(
        lambda: (
            [
                block
                for title, one in zip(titles, found, strict=True)
                for block in (*((title,) if title else ()), *served_tables(one, asked.wide))
            ]
            + proxy_lines(commands)
        ),
        "No answer.",
        found if len(found) > 1 else found[0],
        names=lambda: [name for one in found for name in _names(one)],
        code=0 if all(one["rule"] and not one["failure"] for one in found) else NOT_ANSWERED,
        whole=True,
    )


def _with_url(options: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the options, completed from the parts of the URL. Raises CommandError for anything else."""
    try:
        url = urlsplit(text if "://" in text else f"//{text}")
        parts: dict[str, Any] = {"host": url.hostname, "port": url.port}
    except ValueError as error:
        raise CommandError(f"{text!r} is not a URL: {error}") from error
    if url.scheme not in {"", *_PROTOCOLS} or not url.hostname:
        raise CommandError(f"{text!r} is not a URL: write http://, https:// or grpc://HOST[:PORT][/PATH]")
    protocol = _PROTOCOLS.get(url.scheme)
    if protocol == "GRPC":
        parts["grpc"] = url.path
    else:
        parts["path"] = (url.path or "/") + (f"?{url.query}" if url.query else "")
        parts["protocol"] = protocol
    return {**options, **{name: value for name, value in parts.items() if value and not options.get(name)}}


def _query_inputs(asked: Asked) -> list[Entry]:
    """Return the query's input for each URL, or for the options alone. Raises CommandError for invalid values."""
    options = {"source_namespace": asked.source_namespace, **asked.more}
    names = field_names(options["fields"])
    if options["from_log"] is not None:
        options = line_options(options["from_log"], names, options)
    return [_query_input(_with_url(options, text)) for text in asked.words] or [_query_input(options)]


def _query_input(options: dict[str, Any]) -> Entry:
    """Return the query's input except the Gateway. Raises CommandError for invalid values."""
    host, colon, port = (options["host"] or "").rpartition(":")
    if colon and port.isdecimal():
        raise CommandError(f"--host {options['host']} has a port: write --host {host} --port {port}")
    named = {"host": "host", "method": "method", "sni": "sni", "port": "port", "source_namespace": "sourceNamespace"}
    query_input = {field: options[name] for name, field in named.items() if options[name]}
    if options["protocol"]:
        query_input["protocol"] = options["protocol"].upper()
    path, _, query = (options["path"] or "").partition("?")
    if path:
        query_input["path"] = path
    if options["grpc"]:
        service, slash, method = options["grpc"].strip("/").partition("/")
        if not slash:
            raise CommandError(f"--grpc {options['grpc']}: write SERVICE/METHOD")
        query_input["grpc"] = {"service": service, "method": method}
    query_input["query"] = _pairs([*(part for part in query.split("&") if part), *options["query"]], "--query", "=")
    query_input["headers"] = _pairs(options["headers"], "--header", "=:")
    if not query_input.keys() - {"query", "headers", "sourceNamespace", "method"}:
        raise CommandError("missing request: give a URL, --host and --path, --grpc, --sni or --port")
    return query_input


def _pairs(texts: list[str] | tuple[str, ...], option: str, marks: str) -> dict[str, list[str]]:
    """Return `NAME=VALUE` texts as values by name. A header may have curl's form `NAME: VALUE`."""
    found: dict[str, list[str]] = {}
    for text in texts:
        ends = [text.index(mark) for mark in marks if mark in text]
        if option == "--header" and not ends:
            raise CommandError(f"{option} {text}: write NAME=VALUE")
        end = min(ends, default=len(text))
        found.setdefault(text[:end], []).append(text[end + 1 :].lstrip() if ":" in marks else text[end + 1 :])
    return found


def _names(answer: Entry) -> list[str]:
    """Return the rule that serves the request and its backends, for `-o name`."""
    return [answer["rule"], *(backend["backend"] for backend in answer["backends"])] if answer["rule"] else []


def served_tables(answer: Entry, wide: bool = False) -> list[Block]:
    """Return the tables for the query `request`."""
    if not answer["rule"]:
        return [_not_served(answer["nearest"], answer["failure"]), _nearest(answer["nearest"]), _also(answer["also"])]
    return [
        _way(answer),
        _backends(answer["backends"]),
        _filter_backends(answer["filterBackends"]),
        *_failure(answer["failure"]),
        effective_table(answer["policies"], wide=wide),
        _also(answer["also"]),
        *(f"{warning['message']}." for warning in answer["warnings"]),
    ]


def _way(answer: Entry) -> Fields:
    """Return the nodes that the request passes."""
    nodes = [
        (name, short_key(parse_key(answer[name.lower()])) if answer[name.lower()] else "")
        for name in ("Gateway", "Listener", "Route", "Rule")
    ]
    return Fields([*nodes, *(("Filter", _filter(one)) for one in answer["filters"])])


def _filter(one: Entry) -> str:
    """`RequestRedirect {"scheme":"https"}`."""
    rest = [value for name, value in one.items() if name != "type"]
    text = json.dumps(rest[0] if len(rest) == 1 else rest, ensure_ascii=False, separators=(",", ":")) if rest else ""
    return f"{one.get('type', '')} {text}".strip()


def _backends(backends: Sequence[Entry]) -> Table:
    """Return the backends of the rule, with their share of the requests."""
    total = sum(backend["weight"] for backend in backends)
    rows: list[Sequence[str]] = []
    for backend in backends:
        share = f"{100 * backend['weight'] / total:.3g}%" if total else "0%"
        rows.append([*_destination(backend), str(backend["weight"]), share, _problem(backend)])
    return Table(["BACKEND", "PORT", "WEIGHT", "SHARE", "FAILS"], rows).without_empty("FAILS")


def _filter_backends(backends: Sequence[Entry]) -> Table:
    """Return the backends of filters, in addition to the rule's own."""
    rows: list[Sequence[str]] = [
        [f"{one['filter']} ({one['place']})", *_destination(one), _problem(one)] for one in backends
    ]
    return Table(["FILTER", "BACKEND", "PORT", "FAILS"], rows).without_empty("FAILS")


def _destination(backend: Entry) -> tuple[str, str]:
    target = short_key(parse_key(backend["target"])) if backend["target"] else "-"
    return target, "" if backend["port"] is None else str(backend["port"])


def _problem(backend: Entry) -> str:
    problem = backend["problem"]
    return f"{problem['reason']}: {problem['message']}" if problem else ""


def _failure(failure: Entry | None) -> list[str]:
    return [f"Every request fails ({failure['status']}): {failure['message']}."] if failure else []


def _not_served(nearest: Entry, failure: Entry | None) -> str:
    if nearest["reason"] == "CannotTell":
        return f"{nearest['message']}."
    status = f" ({failure['status']})" if failure else ""
    return f"No rule serves it{status}. {nearest['message']}."


def _nearest(nearest: Entry) -> Table:
    rows: list[Sequence[str]] = [
        [short_key(parse_key(one["node"])), one["reason"], one["message"]] for one in nearest["candidates"]
    ]
    return Table(["NEAREST", "REASON", "WHY NOT"], rows)


def _also(others: Sequence[Entry]) -> Table:
    """Return other listeners that accept such a request."""
    rows: list[Sequence[str]] = [
        [
            short_key(parse_key(other["listener"] or other["gateway"])),
            short_key(parse_key(other["rule"])) if other["rule"] else "no rule serves it there",
        ]
        for other in others
    ]
    return Table(["OTHER LISTENERS", "SERVED BY"], rows)
