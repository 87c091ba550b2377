"""`pbctl admin fleet`: the OPAs that get views from a bridge."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import click

from bridge.cli.command import DEBUG, Group, command, option
from bridge.cli.options import file_option, output_option
from bridge.cli.output import print_document
from bridge.cli.table import Table, print_tables
from bridge.queries.names import CommandError

_BEHIND = 1  # exit code
_OTHER = "does not respond like a bridge's address of views (--publish-listen)"


def _fleet() -> None:
    """Show the views that a bridge publishes, and the OPAs that get them.

    Examples:
        # On the machine of the bridge
        pbctl admin fleet status
    """


fleet = Group("fleet", help=_fleet.__doc__, params=[DEBUG], short_help="Show published views, and OPAs that get them")


@command(
    "Show published views, and which revision each OPA has",
    option(
        "--bridge-url", metavar="URL", default="http://127.0.0.1:8484", show_default=True, help="Its views' address."
    ),
    option(
        "--publish-credentials",
        metavar="FOLDER",
        envvar="BRIDGE_PUBLISH_CREDENTIALS",
        type=click.Path(path_type=Path),
        help="As for `pbctl run`; its token is sent. Default: a folder of this user.",
    ),
    file_option("--ca-file", "Authorities (PEM) of the bridge's certificate, instead of the system's."),
    output_option("table", "json", "yaml"),
    group=fleet,
)
def status(bridge_url: str, publish_credentials: Path | None, ca_file: Path | None, output: str) -> int:
    """Show the views that a bridge publishes, and the revision, lag and error of each OPA that reports to it.

    The bridge knows the OPAs that have reported in the last hour, since its start, with the configuration of
    `pbctl admin opa-config --view`.
    The exit code is 1 if a view is not published, built or stored at a destination, or an OPA has an error.

    Examples:
        # On the machine of the bridge
        pbctl admin fleet status
        # On another one, with a copy of the folder
        pbctl admin fleet status --bridge-url https://hub.example.com:8484 --publish-credentials hub --ca-file ca.pem
    """
    found = _read(bridge_url, publish_credentials, ca_file)
    if output == "table":
        destinations = [_table_of_destinations(found)] if found["destinations"] else []
        print_tables([_table_of_views(found["views"]), *destinations, _table_of_edges(found)])
    else:
        print_document(output, found)
    wrong = [one["problem"] for one in (*found["views"], *found["destinations"])]
    return _BEHIND if any((*wrong, *(one["error"] for one in found["edges"]))) else 0


def _read(url: str, folder: Path | None, ca_file: Path | None) -> dict[str, Any]:
    from bridge.files import read_text
    from bridge.opa.credentials import TOKEN, checked_token, default_folder
    from bridge.sources.downloads import UrlError, is_url, read_url

    if not is_url(url):
        raise CommandError(f"--bridge-url {url}: write https://HOST:PORT")
    file = (folder or default_folder("publish")) / TOKEN
    try:
        token = checked_token(read_text(file, "ascii"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise CommandError(f"{file}: {why}: give the bridge's folder with --publish-credentials") from error
    try:
        answer: dict[str, Any] = json.loads(read_url(f"{url}/fleet", {"Authorization": f"Bearer {token}"}, ca_file))
    except UrlError as error:
        if not error.status:
            raise CommandError(f"{url} does not respond: {error}") from error
        problem = "refuses the token" if error.status == HTTPStatus.UNAUTHORIZED else _OTHER
        raise CommandError(f"{url} {problem}: HTTP {error.status}") from error
    except ValueError as error:
        raise CommandError(f"{url} {_OTHER}") from error
    return answer


def _table_of_views(views: list[dict[str, Any]]) -> Table:
    rows: list[Sequence[str]] = [
        [one["name"], one["revision"], str(one["objects"] or ""), str(one["bytes"] or ""), one["problem"]]
        for one in views
    ]
    return Table(["VIEW", "REVISION", "OBJECTS", "BYTES", "PROBLEM"], rows).without_empty("PROBLEM")


def _table_of_destinations(found: dict[str, Any]) -> Table:
    current = [(one["name"], one["revision"]) for one in found["views"] if one["revision"]]
    rows: list[Sequence[str]] = [
        [one["url"], f"{sum(pair in one['revisions'].items() for pair in current)} of {len(current)}", one["problem"]]
        for one in found["destinations"]
    ]
    return Table(["DESTINATION", "CURRENT", "PROBLEM"], rows).without_empty("PROBLEM")


def _table_of_edges(found: dict[str, Any]) -> Table:
    views = {one["name"]: one for one in found["views"]}
    rows: list[Sequence[str]] = [
        [one["name"], one["view"], one["revision"], _lag(one, views), _age(one["reported"]), one["error"]]
        for one in found["edges"]
    ]
    return Table(["OPA", "VIEW", "REVISION", "LAG", "REPORTED", "ERROR"], rows).without_empty("ERROR")


def _lag(edge: dict[str, Any], views: dict[str, dict[str, Any]]) -> str:
    """Return for how long an OPA has not had the current revision."""
    if (view := views.get(edge["view"])) is None or not view["revision"]:
        return "unknown view" if view is None else ""
    return "0s" if edge["revision"] == view["revision"] else _age(edge.get("behind") or view["since"])


def _age(since: str) -> str:
    return f"{max(0, round((datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds()))}s"
