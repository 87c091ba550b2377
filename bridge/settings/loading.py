"""Settings from a YAML file, the environment over it, and options over both; with the origin of each value."""

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

import msgspec
import structlog

from bridge.files import read_text
from bridge.model.text import nearest
from bridge.opa.executable import DOWNLOADS, OPA
from bridge.settings.model import PREFIX, SETTINGS, Settings
from bridge.settings.validation import errors_of
from bridge.sources.yaml import BrokenDocument, Document, Place, read_documents, read_lines

log = structlog.get_logger(__name__)

MOST_LINES = 100_000  # places of a file whose line is known; aliases may repeat more


class Mistake(NamedTuple):
    """A mistake, and its origin: `FILE:LINE`, `environment NAME`, or `option --name`; empty: unknown."""

    where: str
    message: str

    def __str__(self) -> str:
        if not self.where:
            return self.message
        setting = self.where.removeprefix("option --").removeprefix("environment BRIDGE_").replace("-", "_").lower()
        return f"{self.where}: {self.message.removeprefix(f'{setting}: ')}"


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
        text = read_text(file)
    except OSError as error:
        raise SettingsError(Mistake(name, error.strerror or str(error))) from error
    except UnicodeDecodeError as error:
        raise SettingsError(Mistake(name, f"not UTF-8 text: {error.reason}")) from error
    documents = list(read_documents(text))
    if broken := [one for one in documents if isinstance(one, BrokenDocument)]:
        raise SettingsError(*(Mistake(f"{name}:{one.line}", one.reason) for one in broken))
    values = [one.value for one in documents if isinstance(one, Document)] or [{}]
    if len(values) > 1 or not isinstance(values[0], dict):
        raise SettingsError(Mistake(name, "settings are a mapping of names to values"))
    lines = dict(itertools.islice(read_lines(text), MOST_LINES))
    return SettingsFile(values[0], lines, name)


DEFAULT = "default"
_TYPE = re.compile(r"`([a-z |]+)`")
_WORDS = {
    "array": "a list",
    "object": "a mapping",
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}
_COMMAND_OPTIONS = {"placement": "--kind"}  # options of other commands than `run` whose names differ from the setting's
_TOOL_VARIABLES = {*OPA.variables, "BRIDGE_CACHE", "BRIDGE_PLUGIN_HOME", DOWNLOADS}
_TEST_VARIABLES = {"BRIDGE_CHROMIUM", "BRIDGE_HELM", "BRIDGE_PROMTOOL"}
# Variables that Kubernetes sets in a pod for Services called `bridge`, or `bridge-…`.
_SERVICE = re.compile(
    rf"{PREFIX}(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_SERVICE_URL = re.compile(r"(tcp|udp|sctp)://")  # the value of its variable `…_PORT`

Where = Callable[..., str]  # returns the origin of a place within a setting


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
    """Read the settings with their origins, as `load_settings` does."""
    contents = read_settings_file(file) if file else SettingsFile({}, {}, "")
    given = {**_read_file(contents), **_read_environment(environ), **_read_flags(flags or {})}
    mistakes = list(_find_unknown_keys(contents))
    values: dict[str, Any] = {}
    for name, (value, where) in given.items():
        wrong = list(_check_type(name, value, SETTINGS[name].type, where))
        mistakes += wrong
        if not wrong:
            values[name] = value
    settings = msgspec.convert(values, Settings, strict=False)
    for name, error in errors_of(settings).items():
        if name in values or name not in given:  # otherwise it may follow from the setting's wrong type
            mistakes.append(Mistake(given[name].where() if name in given else "", error))
    if mistakes:
        raise SettingsError(*mistakes)
    return Loaded(settings, {name: given[name].where() if name in given else DEFAULT for name in SETTINGS})


def _read_file(file: SettingsFile) -> dict[str, _Given]:
    return {
        name: _Given(value, lambda *place, name=name: file.where(name, *place))
        for name, value in file.values.items()
        if name in SETTINGS
    }


def _find_unknown_keys(file: SettingsFile) -> Iterator[Mistake]:
    for name in file.values:
        if name not in SETTINGS:
            yield Mistake(file.where(str(name)), f"unknown setting {name!r}{_make_suggestion(str(name), SETTINGS)}")


def _read_environment(environ: Mapping[str, str]) -> dict[str, _Given]:
    given = {}
    for name, setting in SETTINGS.items():
        text = environ.get(setting.variable)
        if text is not None and not of_a_service(setting.variable, text):
            value = tuple(filter(None, text.split(","))) if get_origin(setting.type) is tuple else text
            given[name] = _Given(value, lambda *_, variable=setting.variable: f"environment {variable}")
    return given


def _read_flags(flags: Mapping[str, Any]) -> dict[str, _Given]:
    given = {}
    for name, value in flags.items():
        if value not in (None, (), []):
            option = SETTINGS[name].option.partition(" ")[0] or _COMMAND_OPTIONS.get(name)
            where = f"option {option or '--' + name.replace('_', '-')}"
            given[name] = _Given(value, lambda *_, where=where: where)
    return given


def of_a_service(variable: str, value: str) -> bool:
    """Return whether Kubernetes has set this variable for a Service."""
    return bool(_SERVICE.fullmatch(variable) or (variable.endswith("_PORT") and _SERVICE_URL.match(value)))


class UnknownVariable(NamedTuple):
    """An unknown variable of the environment, and a similar known one, or ""."""

    variable: str
    near: str

    def __str__(self) -> str:
        return f"environment {self.variable}: unknown setting{self.near and f'; did you mean {self.near}?'}"


def unknown_variables(environ: Mapping[str, str] = os.environ) -> Iterator[UnknownVariable]:
    """Return variables with the prefix of settings that are unknown, by name."""
    # Compared without the common prefix, which would make everything similar.
    known = {name.removeprefix(PREFIX) for name in _TOOL_VARIABLES} | {name.upper() for name in SETTINGS}
    for variable, value in sorted(environ.items()):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in known or variable in _TEST_VARIABLES or of_a_service(variable, value):
            continue
        near = nearest(name, sorted(known)) or ""
        yield UnknownVariable(variable, near and PREFIX + near)


def warn_of_variables(environ: Mapping[str, str] = os.environ) -> None:
    """Log them."""
    for variable, near in unknown_variables(environ):
        log.warning("unknown environment variable ignored", variable=variable, near=near)


def _make_suggestion(name: str, names: Iterable[str]) -> str:
    near = nearest(name, names)
    return f"; did you mean {near}?" if near else f"; known: {', '.join(names)}"


def _check_type(name: str, value: Any, type_: Any, where: Where) -> Iterator[Mistake]:
    """Return the errors of types within one value; each item of a list and each field of a mapping is checked."""
    types = (type_, *get_args(type_))  # of a union, its members
    items = next((get_args(one)[0] for one in types if get_origin(one) is tuple), None)
    struct = next((one for one in types if isinstance(one, type) and issubclass(one, msgspec.Struct)), None)
    if items is not None and isinstance(value, list | tuple):
        for number, item in enumerate(value):
            item_name = f"{name}[{number}]" if "." in name else name
            yield from _check_type(item_name, item, items, lambda *place, number=number: where(number, *place))
        return
    if struct is not None and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
        known = {field: one for field, one in value.items() if field in fields}
        for field in (one for one in value if one not in fields):
            yield Mistake(where(field), f"{name}: unknown field {field!r}{_make_suggestion(str(field), fields)}")
        wrong = [mistake for field, one in known.items() for mistake in _check_field(name, field, one, fields, where)]
        if wrong:
            yield from wrong
            return
        value = known
    try:
        msgspec.convert(value, type_, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        yield Mistake(where(), _explain(name, value, types, str(error)))


def _check_field(name: str, field: str, value: Any, fields: Mapping[str, Any], where: Where) -> Iterator[Mistake]:
    return _check_type(f"{name}.{field}", value, fields[field], lambda *place: where(field, *place))


def _explain(name: str, value: Any, types: Iterable[Any], error: str) -> str:
    """Return the library's error in the words of a settings file."""
    allowed = [str(one) for type_ in types if get_origin(type_) is Literal for one in get_args(type_)]
    if allowed and isinstance(value, str):
        return f"{name}: {value!r} is not one of {', '.join(allowed)}"
    if error.startswith(name.partition(".")[0] + ":"):
        return error  # of the struct itself
    text = _TYPE.sub(lambda found: " or ".join(_WORDS.get(one, one) for one in found[1].split(" | ")), error)
    return f"{name}: {text[:1].lower()}{text[1:]}"
