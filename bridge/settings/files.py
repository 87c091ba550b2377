"""A file of settings: YAML, with the line of each value; and mistakes with their origins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Place = tuple[str | int, ...]  # of a value: names and numbers of items, from the outside in


class Mistake(NamedTuple):
    """A mistake, and its origin: `FILE:LINE`, `environment NAME`, or `option --name`; empty: unknown."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class SettingsError(Exception):
    """Settings that are unknown, of a wrong type, or out of their range.

    Each of the `mistakes` names the setting, its origin, and the fix.
    """

    def __init__(self, *mistakes: Mistake) -> None:
        super().__init__("; ".join(map(str, mistakes)))
        self.mistakes = mistakes


class SettingsFile(NamedTuple):
    """The contents of a file: values by key, and the line of each place."""

    values: Mapping[Any, Any]
    lines: Mapping[Place, int]
    name: str

    def where(self, *place: str | int) -> str:
        """Return `FILE:LINE` of a place, or of the nearest one around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return f"{self.name}:{self.lines[place]}" if place else self.name


def read_settings_file(file: Path) -> SettingsFile:
    """Read a file. Raises SettingsError if it cannot be read, is not YAML, or has a key twice."""
    name = str(file)
    try:
        text = file.read_text(encoding="utf-8")
        node = yaml.compose(text, yaml.SafeLoader)
        places = list(_places(node, ()))
        values = yaml.safe_load(text)
    except OSError as error:
        raise SettingsError(Mistake(name, error.strerror or str(error))) from error
    except UnicodeDecodeError as error:
        raise SettingsError(Mistake(name, f"not UTF-8 text: {error.reason}")) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}:{mark.line + 1}" if mark else name
        raise SettingsError(Mistake(where, f"invalid YAML: {error.problem or error.context}")) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise SettingsError(Mistake(name, f"invalid YAML: {' '.join(str(error).split())}")) from error
    if values is not None and not isinstance(values, dict):
        raise SettingsError(Mistake(name, "settings are a mapping of names to values"))
    lines: dict[Place, int] = {}
    twice = []
    for place, line in places:
        if place in lines:
            what = f"duplicate key {place[-1]!r} (first used on line {lines[place]})"
            twice.append(Mistake(f"{name}:{line}", what))
        lines.setdefault(place, line)
    if twice:
        raise SettingsError(*twice)
    return SettingsFile(values or {}, lines, name)


def _places(node: yaml.Node | None, place: Place) -> Iterator[tuple[Place, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*place, key.value), key.start_mark.line + 1
            yield from _places(value, (*place, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield (*place, number), item.start_mark.line + 1
            yield from _places(item, (*place, number))
