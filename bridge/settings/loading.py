"""Settings from their sources: a file, the environment over it, options over both; with the origin of each."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from bridge.settings.environment import of_a_service
from bridge.settings.files import Mistake, SettingsError, SettingsFile, read_settings_file
from bridge.settings.model import PREFIX, Settings
from bridge.settings.validation import Flawed

DEFAULT = "default"
_AT = re.compile(r" - at `([^`]*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_ENUM = re.compile(r"^Invalid enum value ('.*?')(?: - at `[^`]*`)?$")
_TYPE = re.compile(r"`([a-z |]+)`")
_WORDS = {
    "array": "a list",
    "object": "a mapping",
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}
_HINTS = get_type_hints(Settings)
_OPTIONS = {"opa_url": "--opa", "placement": "--kind"}  # whose names differ from the setting's

Where = Callable[..., str]  # of a place within a setting


class Loaded(NamedTuple):
    """Settings, and the origin of each by name: DEFAULT, `FILE:LINE`, `environment NAME`, or `option --name`."""

    settings: Settings
    origins: Mapping[str, str]


class _Given(NamedTuple):
    value: Any
    where: Where


def load_settings(
    file: Path | None = None, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Read the settings; flags that are None or empty count as not given. Raises SettingsError with all mistakes."""
    return load(file, flags, environ).settings


def load(
    file: Path | None = None, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] = os.environ
) -> Loaded:
    """Do the same, with the origins."""
    found = read_settings_file(file) if file else SettingsFile({}, {}, "")
    mistakes = list(_unknown(found))
    given = {name: _Given(value, _within(found, name)) for name, value in found.values.items() if name in _HINTS}
    given.update(_from_environment(environ))
    given.update(_from_flags(flags or {}))
    good: dict[str, Any] = {}
    for name, (value, where) in given.items():
        wrong = list(_mistakes(name, value, where))
        mistakes += wrong
        if not wrong:
            good[name] = value
    try:
        settings = msgspec.convert(good, Settings, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        mistakes += _flaws(error, given, good)
    if mistakes:
        raise SettingsError(*mistakes)
    return Loaded(settings, {name: given[name].where() if name in given else DEFAULT for name in _HINTS})


def _unknown(file: SettingsFile) -> Iterator[Mistake]:
    for name in file.values:
        if name not in _HINTS:
            yield Mistake(file.where(str(name)), f"there is no setting {name!r}{_near(str(name), _HINTS)}")


def _near(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"


def _within(file: SettingsFile, name: str) -> Where:
    return lambda *place: file.where(name, *place)


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, _Given]]:
    for name, hint in _HINTS.items():
        variable = PREFIX + name.upper()
        text = environ.get(variable)
        if text is not None and not of_a_service(variable, text):
            value = tuple(filter(None, text.split(","))) if "tuple" in str(hint) else text
            yield name, _Given(value, lambda *_, variable=variable: f"environment {variable}")


def _from_flags(flags: Mapping[str, Any]) -> Iterator[tuple[str, _Given]]:
    for name, value in flags.items():
        if value not in (None, (), []):
            option = f"option {_OPTIONS.get(name) or '--' + name.replace('_', '-')}"
            yield name, _Given(value, lambda *_, option=option: option)


def _mistakes(name: str, value: Any, where: Where) -> Iterator[Mistake]:
    """Return the type errors of one value; each item of a list is checked."""
    hint = _HINTS[name]
    items = get_args(hint)[0] if "tuple" in str(hint) else None
    if items is not None and isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _converted(name, item, items, lambda *place, number=number: where(number, *place))
    else:
        yield from _converted(name, value, hint, where)


def _converted(name: str, value: Any, hint: Any, where: Where) -> Iterator[Mistake]:
    structs = [one for one in get_args(hint) if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    if structs and isinstance(value, dict):
        fields = structs[0].__struct_encode_fields__
        unknown = [field for field in value if field not in fields]
        yield from (
            Mistake(where(field), f"{name}: there is no {field!r}{_near(str(field), fields)}") for field in unknown
        )
        value = {field: one for field, one in value.items() if field in fields}
    try:
        msgspec.convert(value, hint, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        text = str(error)
        at = _AT.search(text)
        place = [step[1] or int(step[2]) for step in _STEP.finditer(at[1])] if at else []
        within = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
        said = _TYPE.sub(_in_words, text[: at.start()] if at else text)
        said = said if said.startswith(name) else f"{name}{within}: {said[:1].lower()}{said[1:]}"
        if (other := _ENUM.search(text)) and (allowed := _allowed(hint, place)):
            said = f"{name}{within}: {other[1]} is none of {', '.join(allowed)}"
        yield Mistake(where(*place), said)


def _allowed(hint: Any, place: Iterable[str | int]) -> tuple[str, ...]:
    """Return the allowed strings at a place within a value of this type, if they are limited."""
    for step in place:
        struct = next(
            (one for one in get_args(hint) if isinstance(one, type) and issubclass(one, msgspec.Struct)), None
        )
        if struct is None or isinstance(step, int):
            return ()
        names = dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))
        hint = get_type_hints(struct)[names[step]]
    literals = [one for one in (hint, *get_args(hint)) if get_origin(one) is Literal]
    return tuple(str(value) for one in literals for value in get_args(one))


def _in_words(types: re.Match[str]) -> str:
    return " or ".join(_WORDS.get(one, one) for one in types[1].split(" | "))


def _flaws(error: Exception, given: Mapping[str, _Given], good: Mapping[str, Any]) -> Iterator[Mistake]:
    """Return the errors of the settings together, without those that may follow from a reported mistake."""
    cause = error if isinstance(error, Flawed) else error.__cause__
    if not isinstance(cause, Flawed):
        yield Mistake("", str(error))
        return
    for setting, message in cause.flaws:
        if setting in good or setting not in given:
            yield Mistake(given[setting].where() if setting in given else "", message)
