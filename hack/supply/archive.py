"""Reproducible archives."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Collection, Mapping
from pathlib import Path


def write_archive(target: Path, files: Mapping[str, bytes], executable: Collection[str] = ()) -> None:
    """Write files as a tar.gz without times and owners, so that the same files always have the same digest."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            entry.mode = 0o755 if name in executable else 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    target.write_bytes(gzip.compress(content.getvalue(), mtime=0))
