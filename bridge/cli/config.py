"""`pbctl admin config`: check settings, show them with their origins, and print their schema for editors."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.command import DEBUG, Group, command, option
from bridge.cli.options import file_option
from bridge.cli.output import print_document, print_error, to_json
from bridge.cli.table import Table, print_tables

if TYPE_CHECKING:
    from bridge.settings.loading import Loaded


def _config() -> None:
    """Check settings, show them with their origins, or print the schema of a settings file.

    Examples:
        # Check a file before a bridge uses it
        pbctl admin config check bridge.yaml
        # Show the settings of `pbctl run --config bridge.yaml` in this environment
        pbctl admin config show --config bridge.yaml
        # Also show the origin of each value
        pbctl admin config show --config bridge.yaml --origin
        # Print a schema for completion in editors
        pbctl admin config schema >bridge.schema.json
    """


config = Group("config", help=_config.__doc__, params=[DEBUG], short_help="Check and show settings, print their schema")


@command(
    "Check settings files",
    click.Argument(["files"], metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path)),
    option("--config", "named", metavar="FILE", multiple=True, type=click.Path(path_type=Path), help="Same as FILE."),
    group=config,
)
def check(files: tuple[Path, ...], named: tuple[Path, ...]) -> int:
    """Report every mistake in settings files, each file separately, with file and line; exit with 1 if there are any.

    The environment is ignored, but unknown variables of the bridge cause a warning. Files that a setting names are
    not read.

    Examples:
        # Check a file before a bridge uses it
        pbctl admin config check bridge.yaml
    """
    from bridge.settings.loading import SettingsError, load_settings

    if not files and not named:
        raise click.UsageError("give a settings file: `pbctl admin config check FILE`")
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
            click.echo(f"{file}: valid")
    return 1 if wrong else 0


@command(
    "Show settings and their origins",
    file_option("--config", "Settings file (YAML); the environment overrides it."),
    option("--origin", is_flag=True, help="Show the origin of each value."),
    option("-o", "--output", type=click.Choice(["yaml", "json"]), help="Format, without --origin. Default: yaml."),
    group=config,
)
def show(config: Path | None, output: str | None, *, origin: bool) -> None:
    """Show the settings of a bridge with this file, in this environment.

    No setting contains a secret: tokens and keys are in files.

    Examples:
        # Show the settings of `pbctl run --config bridge.yaml` in this environment
        pbctl admin config show --config bridge.yaml
        # Also show the origin of each value
        pbctl admin config show --config bridge.yaml --origin
    """
    from bridge.settings.loading import load

    if origin and output:
        raise click.UsageError("--origin prints a table: use it without -o")
    loaded = load(config)
    _warn_of_unknown_variables()
    if origin:
        print_tables([_table(loaded)])
    else:
        print_document(output or "yaml", _document(loaded))


@command("Print the JSON Schema of a settings file", group=config)
def schema() -> None:
    """Print the JSON Schema of a settings file.

    Examples:
        # Print a schema for completion in editors
        pbctl admin config schema >bridge.schema.json
    """
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
    table = Table(["SETTING", "VALUE", "FROM"])
    for name, value in _document(loaded).items():
        text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
        table.rows.append([name, "-" if value is None else text, loaded.origins[name]])
    return table
