"""`bridge config`: check settings, show them with their origins, and print their schema for editors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.help_text import ExampleCommand, ExampleGroup, debug_option
from bridge.cli.terminal import print_error

if TYPE_CHECKING:
    from bridge.cli.printers.table import Table
    from bridge.settings.loading import Loaded

_CHECK = (("Check a file before a bridge uses it", "bridge config check bridge.yaml"),)
_SHOW = (
    (
        "Show the settings of `bridge run --config bridge.yaml` in this environment",
        "bridge config show --config bridge.yaml",
    ),
    ("Also show the origin of each value", "bridge config show --config bridge.yaml --origin"),
)
_SCHEMA = (("Print a schema for completion in editors", "bridge config schema >bridge.schema.json"),)


@click.group(cls=ExampleGroup, examples=(*_CHECK, *_SHOW, *_SCHEMA), short_help="Settings: check, show, schema")
@debug_option
def config() -> None:
    """Check settings, show them with their origins, or print the schema of a settings file."""


@config.command(cls=ExampleCommand, examples=_CHECK, short_help="Check settings files")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--config", "named", metavar="FILE", multiple=True, type=click.Path(path_type=Path), help="Same as FILE.")
@debug_option
@click.pass_context
def check(ctx: click.Context, files: tuple[Path, ...], named: tuple[Path, ...]) -> None:
    """Report every mistake in settings files, each file separately, with file and line; exit with 1 if there are any.

    The environment does not count, but unknown variables of the bridge cause a warning. Files that a setting names are
    not read.
    """
    from bridge.settings.loading import SettingsError, load_settings

    if not files and not named:
        raise click.UsageError("give a settings file: `bridge config check FILE`")
    _warn_of_unknown_variables()
    wrong = False
    for file in (*files, *named):
        try:
            load_settings(file, environ={})
        except SettingsError as error:
            wrong = True
            for mistake in error.mistakes:
                click.echo(mistake if mistake.where else f"{file}: {mistake}")
        else:
            click.echo(f"{file}: fine")
    ctx.exit(1 if wrong else 0)


@config.command(cls=ExampleCommand, examples=_SHOW, short_help="Show settings and their origins")
@click.option(
    "--config",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Settings file (YAML); the environment overrides it.",
)
@click.option("--origin", is_flag=True, help="Show the origin of each value.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), help="Format, without --origin. Default: yaml.")
@debug_option
def show(file: Path | None, output: str | None, *, origin: bool) -> None:
    """Show the settings of a bridge with this file, in this environment.

    No setting contains a secret: tokens and keys are in files.
    """
    from bridge.cli.printers import print_document
    from bridge.cli.printers.table import print_tables
    from bridge.settings.loading import load

    if origin and output:
        raise click.UsageError("--origin prints a table: use it without -o")
    loaded = load(file)
    _warn_of_unknown_variables()
    if origin:
        print_tables([_table(loaded)])
    else:
        print_document(output or "yaml", _document(loaded))


@config.command(cls=ExampleCommand, examples=_SCHEMA, short_help="Print the JSON Schema of a settings file")
@debug_option
def schema() -> None:
    """Print the JSON Schema of a settings file."""
    from bridge.cli.printers import to_json
    from bridge.settings.model import settings_schema

    found = {"$ref": "#/$defs/Settings", "$defs": settings_schema()}
    sys.stdout.write(to_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **found}))


def _warn_of_unknown_variables() -> None:
    """Warn about variables that resemble settings but are unknown."""
    from bridge.settings.loading import unknown_variables

    for one in unknown_variables():
        print_error(f"warning: {one}")


def _document(loaded: Loaded) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(loaded.settings)
    return {name: _short(value) for name, value in found.items()}


def _short(value: Any) -> Any:
    """Return an entry of a list without its unset fields."""
    if not isinstance(value, list | tuple):
        return value
    return [
        {k: v for k, v in one.items() if v not in (None, "", [], ())} if isinstance(one, dict) else one for one in value
    ]


def _table(loaded: Loaded) -> Table:
    import json

    from bridge.cli.printers.table import Column, Table

    table = Table([Column("SETTING"), Column("VALUE"), Column("FROM")])
    for name, value in _document(loaded).items():
        text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
        table.rows.append([name, "-" if value is None else text, loaded.origins[name]])
    return table
