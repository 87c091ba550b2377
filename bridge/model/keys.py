"""Keys: the text form of an object, or of a section of an object (`group/Kind/namespace/name[#section][@role]`).

And JSON Pointers: the text form of a place in an object, or of a document of OPA.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from sys import intern
from typing import Any, NamedTuple
from urllib.parse import quote

CORE = "core"  # the core API group, whose name is empty
CLUSTER = "-"  # the namespace of a cluster-scoped object
FRONTEND = "frontend"  # the role of a Service as a mesh parent (semantics K4)


_FORM = re.compile(r"(?!\s)[^/#@]+(?:/[^/#@]+){3}(?<!\s)(?:#[^#@]+)?(?:@frontend)?")
_PLACE = re.compile(r"\d+|\*")  # of an item in a list, or every item
_PLAIN_FIELD = re.compile(r"[\w-]+")  # a field's name that needs no quotes
_FIELD_STEP = re.compile(r'\[("(?:[^"\\]|\\.)*")\]|\[(\d+|\*)\]|([^.\[\]]+)')


class KeyFormatError(ValueError):
    """The text is not `<group>/<Kind>/<namespace>/<name>[#<section>][@frontend]`."""


class Key(NamedTuple):
    """An object of the Kubernetes API, or a section of it.

    `group` is `core` for the core group and `namespace` is `-` for a cluster-scoped object, as in OPA's documents.
    `section` is empty for the whole object. `role` is empty, or `frontend`.
    """

    group: str
    kind: str
    namespace: str
    name: str
    section: str = ""
    role: str = ""

    def __str__(self) -> str:
        text = f"{self.group}/{self.kind}/{self.namespace}/{self.name}"
        if self.section:
            text = f"{text}#{self.section}"
        return f"{text}@{self.role}" if self.role else text

    @property
    def type_id(self) -> str:
        """Return `<group>/<Kind>`, the text form of a kind (semantics K1)."""
        return f"{self.group}/{self.kind}"

    @property
    def object(self) -> Key:
        """Return the key of the whole object of this key or its section."""
        return self._replace(section="", role="") if self.section or self.role else self


def namespace_in(text: str) -> str:
    """Return the namespace of a key as text, even if the rest is invalid; "-" for a cluster-scoped object."""
    return next(iter(text.split("/")[2:3]), "-")


def parse_key(text: str) -> Key:
    """Parse a full key, also one of OPA's data whose names are blanks, as a ref may have them.

    Raises KeyFormatError, whose text names the expected form, if a part is missing.
    """
    body, _, role = text.partition("@")
    body, _, section = body.partition("#")
    parts = body.split("/")
    if len(parts) != 4 or not all(parts) or (role and role != FRONTEND):
        raise KeyFormatError(
            f"{text!r} is not a key: write <group>/<Kind>/<namespace>/<name>[#<section>], "
            "with group core and namespace - where there is none"
        )
    group, kind, namespace, name = parts
    return Key(group, kind, namespace, name, section, role)


def is_key(text: str) -> bool:
    """Return whether a text is a full key of an object that may exist: no name begins or ends with a blank."""
    return _FORM.fullmatch(text) is not None


def group_of(api_version: str) -> str:
    """Return the API group of an `apiVersion`, `core` for the core group."""
    group, slash, _ = api_version.partition("/")
    return group if slash else CORE


def key_of(obj: Mapping[str, Any]) -> Key:
    """Return the key of a Kubernetes object (a parsed manifest).

    Raises KeyError if apiVersion, kind or metadata.name is missing.
    """
    metadata = obj["metadata"]
    namespace = metadata.get("namespace") or CLUSTER
    # Many keys share these: each text is stored once.
    return Key(intern(group_of(obj["apiVersion"])), obj["kind"], intern(namespace), metadata["name"])


def pointer(*segments: str) -> str:
    """Return the JSON Pointer of a document under `data`, as in JSON Patch: `pointer("x", "a/b")` is `/x/a~1b`."""
    return "".join("/" + segment.replace("~", "~0").replace("/", "~1") for segment in segments)


def segments_of(path: str) -> list[str]:
    """Return the segments of a JSON Pointer; its leading slash is optional, and `` is the whole of `data`."""
    stripped = path.removeprefix("/")
    return [part.replace("~1", "/").replace("~0", "~") for part in stripped.split("/")] if stripped else []


def field_name(path: str) -> str:
    """Return a field as people write it, `rules[0].name`, from its JSON Pointer; empty for the whole."""
    return "".join(map(_field_step, segments_of(path))).removeprefix(".")


def _field_step(segment: str) -> str:
    if _PLACE.fullmatch(segment):
        return f"[{segment}]"
    return f".{segment}" if _PLAIN_FIELD.fullmatch(segment) else f"[{json.dumps(segment, ensure_ascii=False)}]"


def field_pointer(text: str) -> str:
    """Return the JSON Pointer of a field, from the text of `field_name`."""
    pieces = _FIELD_STEP.findall(text)
    return pointer(*(json.loads(quoted) if quoted else place or name for quoted, place, name in pieces))


@lru_cache(maxsize=256)  # most are used repeatedly
def url_path(path: str) -> str:
    """Return the path of the same document in OPA's data API, without a leading slash: segments are percent-encoded."""
    return "/".join(quote(segment, safe="") for segment in segments_of(path))
