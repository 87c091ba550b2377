"""Reading of files that others may have written or linked: with a bound, and where asked for, of regular files only."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO, BinaryIO

MOST = 1 << 20  # bytes of a token, a key, a certificate or settings
_CHUNK = 1 << 20


def read_file(path: Path, most: int = MOST) -> bytes:
    """Return the content of a file. Raises OSError, also for more than `most` bytes: a device may be endless."""
    with path.open("rb") as opened:
        return read_stream(opened, most, path)


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the content of a file as text. Raises OSError like `read_file`, and UnicodeDecodeError."""
    return read_file(path).decode(encoding)


def open_regular(path: Path, most: int) -> BinaryIO:
    """Open a regular file of at most `most` bytes.

    Raises OSError, also for a larger one, and for a device or a pipe, whose reading may never end.
    """
    # Without waiting: otherwise a pipe without a writer would block the process here.
    opened = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")
    status = os.fstat(opened.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_size <= most:
        return opened
    opened.close()
    if stat.S_ISREG(status.st_mode):
        raise _too_large(most, path)
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_stream(stream: IO[bytes], most: int, path: Path | str) -> bytes:
    """Return the rest of a stream; `path` is its name in errors. Raises OSError for more than `most` bytes."""
    content = bytearray()
    while chunk := stream.read(_CHUNK):
        content += chunk
        if len(content) > most:
            raise _too_large(most, path)
    return bytes(content)


def _too_large(most: int, path: Path | str) -> OSError:
    return OSError(errno.EFBIG, f"larger than {most >> 20} MiB", str(path))
