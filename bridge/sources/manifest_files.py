"""Files of manifests: their paths, and the objects and errors in the text of one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridge.model.changes import Object, Trouble
from bridge.model.nesting import MAX_DEPTH, MAX_VALUES, NestingError, exceeds, has_more_values
from bridge.sources.yaml import BrokenDocument, read_documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STDIN = "-"
_SUFFIXES = {".yaml", ".yml", ".json"}
# Input of kustomize, not an object: it is next to manifests and is never applied itself.
_NO_MANIFESTS = {"kustomization.yaml", "kustomization.yml"}


class ManifestError(Exception):
    """A path of manifests that cannot be used: it does not exist or cannot be read. The text names it."""


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """One object as written, and its position: document `number` of `file`, which begins at `line`."""

    object: Object
    file: str
    line: int
    number: int

    @property
    def where(self) -> str:
        """Return `file:line`."""
        return f"{self.file}:{self.line}"

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Return the identity of this object before its scope and defaults are known."""
        metadata = self.object["metadata"]
        group = self.object["apiVersion"].rpartition("/")[0]
        return group, self.object["kind"], metadata.get("namespace") or "", metadata["name"]

    def trouble(self, reason: str, *, retried: bool) -> Trouble:
        """Return the report of an error in this document."""
        return report(self.file, self.line, self.number, reason, retried=retried)


@dataclass(frozen=True, slots=True)
class FileContent:
    """The contents of one file: its valid objects and the errors of its other documents."""

    manifests: tuple[Manifest, ...]
    troubles: tuple[Trouble, ...]


def report(file: str, line: int, number: int, reason: str, *, retried: bool) -> Trouble:
    """Return the report of an error in a document, printed as `file:line: document N: reason`."""
    return Trouble(f"{file}:{line}", f"document {number}: {reason}", retried=retried)


def find_files(path: Path) -> list[Path]:
    """Return the manifest files of a path: the file itself, or all files in the folder, sorted, without hidden ones.

    Raises ManifestError if it does not exist or a folder cannot be read.
    """
    if not path.exists():
        raise ManifestError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        return [path]
    found = []

    def fail(error: OSError) -> None:
        raise ManifestError(f"{error.filename}: {error.strerror}")

    for folder, folders, files in os.walk(path, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder, name) for name in files if _is_manifest(name)]
    return sorted(found)


def _is_manifest(name: str) -> bool:
    return Path(name).suffix in _SUFFIXES and not name.startswith(".") and name not in _NO_MANIFESTS


def read_content(content: bytes, file: str, *, retried: bool) -> FileContent:
    """Return the objects in the bytes of a file, with Lists expanded, and a report for each invalid document.

    `retried` is part of the reports: whether the file is read again when it changes.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return FileContent((), (report(file, line, 1, "no text in UTF-8", retried=retried),))
    manifests: list[Manifest] = []
    troubles: list[Trouble] = []
    for document in read_documents(text):
        if isinstance(document, BrokenDocument):
            troubles.append(report(file, document.line, document.number, document.reason, retried=retried))
            continue
        for value, line in _take_apart(document.value, document.line, document.item_lines):
            fault = _fault_of(value)
            if fault:
                troubles.append(report(file, line, document.number, fault, retried=retried))
            else:
                manifests.append(Manifest(value, file, line, document.number))
    return FileContent(tuple(manifests), tuple(troubles))


def _take_apart(value: Any, line: int, item_lines: Sequence[int]) -> Iterator[tuple[Any, int]]:
    """Return the objects of a list (`List`, or any kind with that ending and `items`); any other value itself."""
    kind = value.get("kind") if isinstance(value, dict) else None
    items = value.get("items") if isinstance(kind, str) and kind.endswith("List") else None
    if not isinstance(items, list):
        yield value, line
        return
    for index, item in enumerate(items):
        # The items of a list of one kind may omit the list's own fields.
        said = {"apiVersion": value.get("apiVersion"), "kind": str(kind).removesuffix("List")} if kind != "List" else {}
        whole = {**said, **item} if isinstance(item, dict) else item
        yield from _take_apart(whole, item_lines[index] if index < len(item_lines) else line, ())


def _fault_of(value: Any) -> str | None:
    """Why a value is not an object of the Kubernetes API; None if it is one."""
    if not isinstance(value, dict):
        return f"no object but a {'list' if isinstance(value, list) else 'plain value'}: a manifest is a mapping"
    for field in ("apiVersion", "kind"):
        if fault := _fault_of_text(value.get(field), field):
            return fault
    if fault := _fault_of_metadata(value.get("metadata")):
        return fault
    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:
        return "a text in it is no valid Unicode"
    if has_more_values(text, MAX_VALUES):
        return f"it has more than {MAX_VALUES} fields and items"
    return str(NestingError()) if exceeds(text, MAX_DEPTH) else None


def _fault_of_metadata(metadata: Any) -> str | None:
    if metadata is not None and not isinstance(metadata, dict):
        return "metadata is no mapping"
    metadata = metadata or {}
    if "name" not in metadata and "generateName" in metadata:
        return "metadata.name is missing: an object with a generated name has no place among manifests"
    if fault := _fault_of_text(metadata.get("name"), "metadata.name"):
        return fault
    if metadata.get("namespace") is not None and (fault := _fault_of_text(metadata["namespace"], "metadata.namespace")):
        return fault
    for field in ("labels", "annotations"):
        if not isinstance(metadata.get(field), dict | None):
            return f"metadata.{field} is no mapping"
    for field in ("metadata.name", "metadata.namespace"):
        name = metadata.get(field.removeprefix("metadata."))
        if name in {".", ".."} or any(sign in "/%" or sign.isspace() for sign in name or ""):
            return f"{field} {name!r} is not a valid name that the Kubernetes API takes"
    return None


def _fault_of_text(value: Any, field: str) -> str | None:
    if value is None or value == "":
        return f"{field} is missing"
    return None if isinstance(value, str) else f"{field} is not a string ({value!r}): quote it"
