"""`bridge request`: find the rule that serves a request, its backends, and the effective policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from bridge.cli.completion import GATEWAYS, NAMESPACES
from bridge.cli.help_text import ExampleCommand, debug_option
from bridge.cli.options import View, view_options
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.queries.asking import Entry

NOT_SERVED = 1  # exit code
_PROTOCOLS = {"http": "HTTP", "https": "HTTPS", "grpc": "GRPC"}  # by the scheme of a URL

_EXAMPLES = (
    ("Find the rule that serves a page", "bridge request https://shop.example.com/cart --manifests examples/shop"),
    ("The same with options", "bridge request --host shop.example.com --path /cart --manifests examples/shop"),
    (
        "A request to one port of one Gateway, with a header and a query",
        "bridge request --host shop.example.com --path '/cart?beta=1' --header x-user=ann --gateway public --port 443",
    ),
    ("A gRPC call", "bridge request --host api.example.com --grpc shop.Cart/Add"),
    ("A TLS connection by its SNI; a TCP connection by its port", "bridge request --sni db.example.com"),
    ("A mesh request to a Service", "bridge request --gateway svc/cart --path /cart --source-namespace blog"),
)


@click.command(cls=ExampleCommand, examples=_EXAMPLES, short_help="Show the rule and the policies for a request")
@click.argument("url", metavar="[URL]", required=False)
@click.option("--host", metavar="HOST", help="The hostname; a port after it is ignored.")
@click.option("--path", metavar="PATH", help="The path, with or without a query. Default: /.")
@click.option("--method", metavar="METHOD", help="Default: GET.")
@click.option("--header", "headers", metavar="NAME=VALUE", multiple=True, help="A header. Repeatable.")
@click.option("--query", metavar="NAME=VALUE", multiple=True, help="A query parameter. Repeatable.")
@click.option("--grpc", metavar="SERVICE/METHOD", help="A gRPC call, instead of path and method.")
@click.option("--sni", metavar="HOST", help="The server name of a TLS connection that is passed through.")
@click.option(
    "--protocol",
    type=click.Choice(["HTTP", "HTTPS", "GRPC", "TLS", "TCP", "UDP"], case_sensitive=False),
    help="Default: from the other options; with only --port, TCP.",
)
@click.option("--port", type=click.IntRange(1, 65535), help="The listener's port. Default: any.")
@click.option(
    "--gateway",
    shell_complete=GATEWAYS,
    metavar="GATEWAY",
    help="[NAMESPACE/]NAME of the Gateway, or svc/NAME for a request in a mesh. Default: any Gateway.",
)
@click.option(
    "-n",
    "--namespace",
    metavar="NS",
    shell_complete=NAMESPACES,
    help="The namespace of a --gateway without one.",
)
@click.option(
    "--source-namespace",
    metavar="NS",
    shell_complete=NAMESPACES,
    help="The namespace of the client, in a mesh.",
)
@view_options
@debug_option
@click.pass_context
def request(ctx: click.Context, /, namespace: str | None, view: View, **options: Any) -> None:
    """Find the rule that serves a request, by Gateway API's precedence, and the effective policies for it.

    Shows the listener, the route and the rule, the backends with their weights, the filters, and the effective policy
    of every policy kind. If no rule serves the request, shows how far it gets and the nearest rules, and exits with 1.

    URL is http://, https:// or grpc://HOST[:PORT][/PATH][?QUERY]; options replace its parts. A port counts only if the
    URL contains it.

    Without --port or --gateway the command shows the listener with the most specific hostname that has a rule for the
    request, and names the others.
    """
    from bridge.cli.printers.request import served_tables
    from bridge.cli.reading import Form, show

    query_input = _query_input(_with_url(options))

    async def ask(engine: Engine) -> Entry:
        from bridge.queries.asking import entry_gateway

        gateway = options["gateway"]
        more = {"gateway": str(await entry_gateway(engine.opa, gateway, namespace))} if gateway else {}
        answer: Entry = await engine.opa.query("request", {**query_input, **more})
        return answer

    form = Form(served_tables, "No answer.", names=_names, whole=True)
    answer, code = show(view, ask, form, queries=("request",))
    ctx.exit(code or (0 if answer["rule"] else NOT_SERVED))


def _with_url(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options, completed from the parts of the URL. Raises CommandError for anything else."""
    text = options.pop("url")
    if not text:
        return options
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


def _query_input(options: dict[str, Any]) -> Entry:
    """Return the query's input except the Gateway. Raises CommandError for invalid values."""
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
