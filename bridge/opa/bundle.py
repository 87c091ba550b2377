"""OPA bundles: Rego modules and data as one archive, the same bytes for the same content."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import tarfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Bundle:
    """A bundle in OPA's format.

    `files` are its files by path, `revision` identifies their content (and is the ETag), `roots` are the parts of
    `data` that it owns, as slash-separated paths.
    """

    files: Mapping[str, bytes] = field(repr=False)
    revision: str
    roots: tuple[str, ...]

    @functools.cached_property
    def content(self) -> bytes:
        """Return the archive (tar.gz), without a signature."""
        return archive_of(self.files)


def build_bundle(
    modules: Mapping[str, str],
    data: Mapping[str, Any],
    roots: Iterable[str],
    revision: str | None = None,
) -> Bundle:
    """Put `modules` (path in the bundle, such as `bridge/status/status.rego`, to text) and `data` into one bundle.

    `roots` have slashes, as in OPA (names may contain dots). By default `revision` follows from the content: equal
    content has an equal revision. The bytes depend on nothing else: no time, no order of the mappings.

    Raises ValueError for a module path that is absolute, leaves the bundle, or does not end with `.rego`.
    """
    for path in modules:
        if not path.endswith(".rego") or path.startswith("/") or ".." in path.split("/"):
            raise ValueError(f"{path!r} is not a path of a module in a bundle: write folder/name.rego")
    owned = tuple(sorted({root.strip("/") for root in roots}))
    files = {path: text.encode() for path, text in sorted(modules.items())}
    files["data.json"] = msgspec.json.encode(data, order="deterministic")
    if revision is None:
        revision = _digest(files, owned)
    manifest = msgspec.json.encode({"revision": revision, "roots": list(owned)}, order="deterministic")
    return Bundle({".manifest": manifest, **files}, revision, owned)


def _digest(files: Mapping[str, bytes], roots: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for part in ("\0".join(roots).encode(), *(item for path, text in files.items() for item in (path.encode(), text))):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:16]


def archive_of(files: Mapping[str, bytes]) -> bytes:
    """Return files by path as tar.gz: the same bytes for the same files."""
    plain = io.BytesIO()
    # The format that supports names of any length.
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)  # its time is 0 and its owner empty by default
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), compresslevel=6, mtime=0)
