"""The files of the package: the shipped Rego with its presets, the bridge's CRDs, the page of reasons; and of others.

Files that others may have written or linked are read with a bound, and where asked for, only regular ones.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

STDIN = "-"  # in place of a path
MOST = 1 << 20  # bytes of a token, a key, a certificate or settings
MOST_OF_INPUT = 256 << 20  # bytes of a file of manifests, or of the content at a URL
_CHUNK = 1 << 20


def read_file(path: Path, most: int = MOST) -> bytes:
    """Return the content of a file. Raises OSError, also for more than `most` bytes: a device may be endless."""
    with path.open("rb") as opened:
        return read_stream(opened, most, path)


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the content of a file as text. Raises OSError like `read_file`, and UnicodeDecodeError."""
    return read_file(path).decode(encoding)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, and its folder, that others see whole or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def opened_input(path: str) -> Iterator[BinaryIO]:
    """Open a file by its path as a user wrote it, or standard input for `-`. Raises OSError."""
    if path == STDIN:
        yield sys.stdin.buffer
    else:
        with open(path, "rb") as file:  # noqa: PTH123 - a path as the user wrote it
            yield file


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


_PACKAGE = Path(__file__).resolve().parent


def rego_root() -> Path:
    """Return the folder with `bridge/` of the shipped Rego, and `system/`, OPA's own policy.

    An installed wheel has it as `bridge/rego`; in a working copy it is next to the package.

    Raises FileNotFoundError if neither exists: the installation is broken.
    """
    for candidate in (_PACKAGE / "rego", _PACKAGE.parent / "rego"):
        if (candidate / "bridge").is_dir():
            return candidate
    raise FileNotFoundError(f"the shipped Rego is missing beside {_PACKAGE}: install policy-bridge again")


def authorization_policy() -> str:
    """Return the Rego of OPA's authorization: a separate file for OPA, never part of a bundle."""
    return (rego_root() / "system" / "authz" / "authz.rego").read_text(encoding="utf-8")


def rules_of_checks() -> list[Path]:
    """Return the files with the Rego about the Rego of admins; never part of a bundle."""
    return [path for path in sorted((rego_root() / "checks").glob("*.rego")) if not path.stem.endswith("_test")]


def released_fields() -> Path:
    """Return the file with the fields of kinds in their releases (see `bridge.sources.known_fields`)."""
    return Path(__file__).parent / "sources" / "known_fields.json"


def crds_root() -> Path:
    """Return the folder with the bridge's own CRDs, one YAML file each.

    Raises FileNotFoundError if it does not exist: the installation is broken.
    """
    for candidate in (_PACKAGE / "crds", _PACKAGE.parent / "deploy" / "crds"):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the CRDs are missing beside {_PACKAGE}: install policy-bridge again")


def reasons_page() -> Path:
    """Return the page of the documentation that explains every reason.

    Raises FileNotFoundError if it does not exist: the installation is broken.
    """
    for candidate in (_PACKAGE / "reasons.md", _PACKAGE.parent / "docs" / "reference" / "reasons.md"):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"the page of reasons is missing beside {_PACKAGE}: install policy-bridge again")
