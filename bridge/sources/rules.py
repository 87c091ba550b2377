"""Validation rules of CRDs (`x-kubernetes-validations`), evaluated by CEL's own implementation.

Of Kubernetes' additions to CEL, the functions for URLs, IP addresses, CIDRs and names are here. A rule that needs
another one is not checked, nor is one that compares with the stored object (`oldSelf`).
"""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec
from cel_expr_python import cel
from cel_expr_python.ext import ext_math, ext_optional, ext_strings

KEYWORD = "x-kubernetes-validations"
_REMEMBERED = 10_000  # values at one place that have passed: many parts of routes are the same
_TRANSITION = re.compile(r"\boldSelf\b")
# Names that a rule writes as `__name__` (Kubernetes, "Validation rules").
_RESERVED = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    }
)
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))

Convert = Callable[[Any], Any]


class Rules:
    """The rules at one place of a schema, as a keyword of jsonschema-rs. `unchecked` gets those without a form here."""

    def __init__(self, unchecked: set[str], schema: Mapping[str, Any], rules: Sequence[Mapping[str, str]]) -> None:
        self._typed = _TYPED.get(str(schema.get("format")))
        unreadable = [re.compile(rf"\b{re.escape(_escape(name))}\b") for name in _typed_fields(schema)]
        self._rules = []
        for rule in rules:
            if _TRANSITION.search(rule["rule"]):
                continue
            if any(name.search(rule["rule"]) for name in unreadable) or not _compiles(self._expression(rule["rule"])):
                unchecked.add(rule["rule"])
                continue
            self._rules.append(rule)
        every = " && ".join(f"({rule['rule']}\n)" for rule in self._rules)
        self._all = _compile(self._expression(every)) if self._rules else None
        self._convert = _converter(schema)
        self._passed: set[bytes] = set()

    def validate(self, instance: Any) -> None:
        """Raise ValueError with the message of the first rule that fails."""
        for error in self.iter_errors(instance):
            raise error

    def iter_errors(self, instance: Any) -> Iterator[ValueError]:
        """Yield an error with the message of each rule that fails."""
        if self._all is None:
            return
        text = msgspec.json.encode(instance)
        if text in self._passed:
            return
        value = self._convert(instance) if self._convert else instance
        if _evaluate(self._all, value) is True:
            if len(self._passed) < _REMEMBERED:
                self._passed.add(text)
            return
        for rule in self._rules:
            if _evaluate(_compile(self._expression(rule["rule"])), value) is not True:
                yield ValueError(f"Invalid value: {self._message(rule, value)}")

    def _expression(self, rule: str) -> str:
        return f"[{self._typed}].all(self, {rule}\n)" if self._typed else rule

    def _message(self, rule: Mapping[str, str], value: Any) -> str:
        expression = rule.get("messageExpression", "")
        if expression and not self._typed and _compiles(expression):
            found = _evaluate(_compile(expression), value)
            if isinstance(found, str) and found.strip():
                return found
        return rule.get("message") or f"failed rule: {' '.join(rule['rule'].split())}"


def _typed_fields(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the fields below a value that are times or durations for a rule, which no mapping can have."""
    for name, field in (schema.get("properties") or {}).items():
        for part in (field, field.get("items"), field.get("additionalProperties")):
            if isinstance(part, dict):
                if part.get("format") in _TYPED:
                    yield name
                yield from _typed_fields(part)
    for name in ("items", "additionalProperties"):
        if isinstance(part := schema.get(name), dict):
            yield from _typed_fields({"properties": {"self": part}})


def _compiles(expression: str) -> bool:
    try:
        _compile(expression)
    except RuntimeError:
        return False
    return True


@cache
def _compile(rule: str) -> cel.Expression:
    """Return a rule in compiled form. Raises RuntimeError, as cel-expr-python does."""
    return _environment().compile(_NAMED_FORMAT.sub(r"violates_\1(\2)", rule))


def _evaluate(expression: cel.Expression, value: Any) -> Any:
    """Return the result; None for an error, such as a field that does not exist: an API server refuses that as well."""
    try:
        result = expression.eval(data={"self": value})
    except (RuntimeError, TypeError, ValueError, OverflowError):
        return None
    return None if result.type() == cel.Type.ERROR else result.value()


@cache
def _environment() -> cel.Env:
    text, boolean = cel.Type.STRING, cel.Type.BOOL
    functions = [
        *(_function(name, boolean, parses(parse)) for name, parse in _PARSERS.items()),
        *(_function(f"violates_{name}", boolean, _violates(pattern)) for name, pattern in NAMED_FORMATS.items()),
        _function("url", text, str),
        *(_function(name, text, _read_url(read), is_member=True) for name, read in _URL_PARTS.items()),
    ]
    return cel.NewEnv(
        variables={"self": cel.Type.DYN},
        extensions=[ext_strings.ExtStrings(), ext_optional.ExtOptional(), ext_math.ExtMath()],
        functions=functions,
    )


def _function(name: str, result: cel.Type, do: Callable[[str], Any], *, is_member: bool = False) -> cel.FunctionDecl:
    """Declare a function of a text."""
    overload = cel.Overload(
        id=f"kubernetes_{name}", return_type=result, parameters=[cel.Type.STRING], is_member=is_member, impl=do
    )
    return cel.FunctionDecl(name, [overload])


def _split_url(text: str) -> SplitResult:
    """Return the parts of a URL with a scheme or an absolute path, as Go's url.ParseRequestURI takes it."""
    parts = urlsplit(text)
    if not (parts.scheme or text.startswith("/")) or any(sign <= " " or sign == "\x7f" for sign in text):
        raise ValueError(text)
    _ = parts.port  # raises ValueError for an invalid one
    return parts


def parses(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    """Return a function that returns whether a text is parsed without a ValueError."""

    def succeeds(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return succeeds


# The only way to use named formats. An optional value, as Kubernetes returns, cannot come from a function of Python.
_NAMED_FORMAT = re.compile(r"format\.(\w+)\(\)\.validate\(((?:[^()]|\([^()]*\))*)\)\.hasValue\(\)")
_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_SUBDOMAIN = r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
# Kubernetes' forms of names, as CEL calls them.
NAMED_FORMATS: Mapping[str, re.Pattern[str]] = {
    "dns1035Label": re.compile("[a-z]([-a-z0-9]{0,61}[a-z0-9])?"),
    "dns1123Label": re.compile(_LABEL),
    "dns1123Subdomain": re.compile(_SUBDOMAIN),
    "labelValue": re.compile(rf"({_NAME})?"),
    "qualifiedName": re.compile(rf"((?=[^/]{{1,253}}/){_SUBDOMAIN.partition(')')[2]}/)?{_NAME}"),
}


def _violates(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is None


def _parse_ip(text: str) -> Any:
    if "%" in text or text.lower().startswith("::ffff:"):  # Kubernetes takes neither zones nor mapped addresses
        raise ValueError(text)
    return ipaddress.ip_address(text)


def _parse_cidr(text: str) -> Any:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isdecimal():
        raise ValueError(text)
    return _parse_ip(address), ipaddress.ip_network(text, strict=False)


_PARSERS: Mapping[str, Callable[[str], Any]] = {"isURL": _split_url, "isIP": _parse_ip, "isCIDR": _parse_cidr}
_URL_PARTS: Mapping[str, Callable[[SplitResult], str]] = {
    "getScheme": lambda url: url.scheme,
    "getHost": lambda url: url.netloc.rpartition("@")[2],
    "getHostname": lambda url: url.hostname or "",
    "getPort": lambda url: str(url.port or ""),
    "getEscapedPath": lambda url: url.path,
}


def _read_url(read: Callable[[SplitResult], str]) -> Callable[[str], str]:
    return lambda text: read(_split_url(text))


# What a rule's `self` is where a text has one of these formats.
_TYPED: Mapping[str, str] = {
    "date": "timestamp(self + 'T00:00:00Z')",
    "date-time": "timestamp(self)",
    "duration": "duration(self)",
}


def _converter(schema: Any) -> Convert | None:
    """Return what makes a value of this schema one of CEL: names are escaped, numbers have their types.

    None if values stay as they are.
    """
    if not isinstance(schema, dict):
        return None
    if schema.get("type") == "number" or "number" in schema.get("type", ()):
        return lambda value: float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if schema.get("format") == "byte":
        return lambda value: base64.b64decode(value) if isinstance(value, str) else value
    if inner := _converter(schema.get("items")):
        return lambda value: [inner(item) for item in value] if isinstance(value, list) else value
    if others := _converter(schema.get("additionalProperties")):
        return lambda value: {key: others(item) for key, item in value.items()} if isinstance(value, dict) else value
    fields = schema.get("properties") or {}
    names = {name: escaped for name in fields if (escaped := _escape(name)) != name}
    parts = {name: part for name, field in fields.items() if (part := _converter(field))}
    if not names and not parts:
        return None
    return lambda value: (
        {names.get(key, key): parts[key](item) if key in parts else item for key, item in value.items()}
        if isinstance(value, dict)
        else value
    )


def _escape(name: str) -> str:
    if name in _RESERVED:
        return f"__{name}__"
    for sign, escaped in _ESCAPES:
        name = name.replace(sign, escaped)
    return name
