"""The current contents of manifest files: only changed files are read again, and only changed objects completed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bridge.model.changes import Object, Trouble
from bridge.model.keys import group_of
from bridge.model.types import CRD
from bridge.sources.defaults import Defaulter
from bridge.sources.manifest_files import STDIN, FileContent, Manifest, ManifestError, find_files, read_content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.model.keys import Key

_Signature = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _File:
    signature: _Signature
    content: FileContent


class ManifestState:
    """The manifests of `paths` as of the last `refresh`.

    `objects` are the completed objects by key, in the order of the files; `manifests` has the position of each;
    `troubles` are the errors. All three are replaced by a refresh, never changed in place. `retried` means that there
    will be further refreshes. `crds` describe kinds in addition to those that the manifests define themselves.
    """

    def __init__(self, paths: Sequence[Path | str], *, retried: bool, crds: Sequence[Object] = ()) -> None:
        self._paths = paths
        self._further = crds
        self._retried = retried
        self._files: dict[str, _File] = {}
        self._completed: dict[Manifest, Object] = {}
        self._crds: list[Manifest] | None = None
        self._defaulter = Defaulter()
        self._found: dict[Path, list[str]] = {}
        self._lost: list[Trouble] = []
        self.objects: dict[Key, Object] = {}
        self.manifests: dict[Key, Manifest] = {}
        self.troubles: list[Trouble] = []

    def refresh(self, stdin: IO[bytes] | None = None) -> bool:
        """Read changes; False if there are none. `stdin` is the source of `-`, read once.

        A missing path at the first refresh raises ManifestError; later it is a trouble, and its objects stay. The same
        applies to a broken file: its last objects stay until it is fixed.
        """
        first = self._crds is None
        lost: list[Trouble] = []
        files: dict[str, _File] = {}
        for path in self._paths:
            if isinstance(path, str):
                files[STDIN] = self._read_stdin(stdin)
                continue
            try:
                found = find_files(path)
            except ManifestError as error:
                if first:
                    raise
                lost.append(Trouble(str(path), f"{error}; its last objects stay", retried=self._retried))
                files |= {name: self._files[name] for name in self._found.get(path, ())}
                continue
            names = [name for file in found if (name := os.path.normpath(file)) not in files]
            read = {name: file for name in names if (file := self._read(name, first=first)) is not None}
            self._found[path] = list(read)
            files |= read
        if not first and files == self._files and lost == self._lost:
            return False
        self._files, self._lost = files, lost
        self._assemble()
        return True

    def _read_stdin(self, stdin: IO[bytes] | None) -> _File:
        if STDIN not in self._files:
            content = stdin.read() if stdin is not None else b""
            self._files[STDIN] = _File((), read_content(content, STDIN, retried=False))
        return self._files[STDIN]

    def _read(self, name: str, *, first: bool) -> _File | None:
        before = self._files.get(name)
        try:
            with Path(name).open("rb") as opened:
                status = os.fstat(opened.fileno())
                # A file that is replaced within the clock's resolution has another inode or size.
                signature: _Signature = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)
                if before is not None and before.signature == signature:
                    return before
                content = read_content(opened.read(), name, retried=self._retried)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not Path(name).is_symlink():
                return None  # it was deleted since the folder was read
            if first and any(Path(name) == path for path in self._paths):
                raise ManifestError(f"{name}: {error.strerror}") from error
            trouble = Trouble(f"{name}:1", f"it cannot be read: {error.strerror}", retried=self._retried)
            signature = (error.errno or 0,)
            if before is not None and before.signature == signature:
                return before
            content = FileContent((), (trouble,))
        return _File(signature, _keep_last_good(content, before.content if before else None))

    def _assemble(self) -> None:
        manifests = [manifest for file in self._files.values() for manifest in file.content.manifests]
        crds = [manifest for manifest in manifests if _is_crd(manifest.object)]
        if crds != self._crds:
            self._crds = crds
            self._defaulter = Defaulter([*self._further, *(manifest.object for manifest in crds)])
            self._completed = {}
        troubles = self._lost + [trouble for file in self._files.values() for trouble in file.content.troubles]
        completed: dict[Manifest, Object] = {}
        objects: dict[Key, Object] = {}
        places: dict[Key, Manifest] = {}
        for manifest in manifests:
            key = self._defaulter.key_of(manifest.object)
            if key in places:
                reason = f"{key} is defined already at {places[key].where}: that one counts, this one does not"
                troubles.append(manifest.trouble(reason, retried=self._retried))
                continue
            completed[manifest] = self._completed.get(manifest) or self._defaulter.complete(manifest.object)
            objects[key] = completed[manifest]
            places[key] = manifest
        self._completed, self.objects, self.manifests, self.troubles = completed, objects, places, troubles


def _keep_last_good(content: FileContent, before: FileContent | None) -> FileContent:
    """Keep objects that a file with errors no longer has: they may be deleted, or in a broken document."""
    if before is None or not content.troubles:
        return content
    shown = {manifest.identity for manifest in content.manifests}
    kept = tuple(manifest for manifest in before.manifests if manifest.identity not in shown)
    return FileContent(content.manifests + kept, content.troubles)


def _is_crd(obj: dict[str, Any]) -> bool:
    return f"{group_of(obj['apiVersion'])}/{obj['kind']}" == CRD
