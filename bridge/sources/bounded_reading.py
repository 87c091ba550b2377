"""YAML of authors, read in a child process with bounds on time and memory.

libyaml and the aliases of YAML make much work of small texts, and a thread that does it can neither be ended nor
bounded, and delays all others.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import resource
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from bridge import processes
from bridge.files import STDIN
from bridge.model.changes import Object, Trouble
from bridge.model.keys import Key, parse_key
from bridge.model.nesting import decode
from bridge.sources.known_fields import Doubt
from bridge.sources.manifests import ManifestSource
from bridge.sources.yaml import BrokenDocument, Document, read_documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_SECONDS = 8  # of processor time: 1 MiB of the most expensive YAML takes 4 s
_PATIENCE = 60.0  # seconds for a reading on a loaded machine
MOST_MEMORY = 512 << 20  # bytes of address space
_MOST_OUTPUT = 64 << 20
_NICE = 10  # the bridge and OPA come first
# Up to here, without aliases, a text takes at most 10 ms: less than the start of a process.
_SMALL = 4096  # characters
_ALIAS = re.compile(r"(?:^|[\s,:?\[{-])\*", re.MULTILINE)


class _Request(msgspec.Struct):
    """Texts to return as documents, or manifests to return as objects with the defaults of `crds` and their own."""

    texts: list[bytes] = []
    manifests: bytes | None = None
    crds: list[dict[str, Any]] = []


class TooCostlyError(Exception):
    """Reading takes more time or memory than the bounds allow. The text says which, and what to do."""


def is_cheap(texts: Iterable[str]) -> bool:
    """Return whether reading these texts together costs less than a process."""
    left = _SMALL
    for text in texts:
        left -= len(text)
        if left < 0 or _ALIAS.search(text):
            return False
    return True


async def read_texts(texts: Sequence[str]) -> list[list[Document | BrokenDocument]]:
    """Return the documents of each text. Raises TooCostlyError; when it is cancelled, the child process ends."""
    request = _Request(texts=[text.encode(errors="surrogatepass") for text in texts])
    return [[_read_answer(*one) for one in documents] for documents in await _read(request)]


def _read_answer(
    number: int, line: int, found: Any, item_lines: Sequence[int] | None = None
) -> Document | BrokenDocument:
    if item_lines is None:
        return BrokenDocument(number, line, found)
    return Document(number, line, found, tuple(item_lines))


async def read_manifests(
    content: bytes, crds: Sequence[Object]
) -> tuple[list[Object], list[Trouble], list[tuple[Key, Doubt, int]]]:
    """Return the objects in manifests, with the API server's defaults, the errors of the others, and the doubts.

    The doubts are those of `ManifestSource.doubts`: what an API server refuses or drops of the objects. Raises
    TooCostlyError; when it is cancelled, the child process ends.
    """
    objects, troubles, doubts = await _read(_Request(manifests=content, crds=list(crds)))
    return (
        objects,
        [Trouble(subject, message, retried=False) for subject, message in troubles],
        [(parse_key(key), Doubt(*doubt), line) for key, doubt, line in doubts],
    )


async def _read(request: _Request) -> Any:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "bridge.sources.bounded_reading", str(MOST_SECONDS), str(MOST_MEMORY)),
        env={"PYTHONPATH": os.pathsep.join(sys.path)},  # none of the bridge's own variables
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            output, _ = await process.communicate(msgspec.json.encode(request))
    except TimeoutError:
        output = b""
    finally:
        await processes.end(process)
    if not output or process.returncode:
        bounds = f"{MOST_SECONDS} s or {MOST_MEMORY >> 20} MiB of memory"
        raise TooCostlyError(f"reading it takes more than {bounds}: make it smaller")
    return decode(output)


def _answer(request: _Request) -> Any:
    if request.manifests is not None:
        source = ManifestSource([STDIN], follow=False, crds=request.crds)
        objects = source.load(io.BytesIO(request.manifests))
        doubts = [
            (str(key), (doubt.reason, doubt.message, doubt.certain, doubt.place), line)
            for key, doubt, line in source.doubts()
        ]
        return objects, [(one.subject, one.message) for one in source.problems], doubts
    texts = (text.decode(errors="surrogatepass") for text in request.texts)
    return [[_list_fields(document) for document in read_documents(text)] for text in texts]


def _list_fields(document: Document | BrokenDocument) -> tuple[Any, ...]:
    if isinstance(document, BrokenDocument):
        return document.number, document.line, document.reason
    try:
        msgspec.json.encode(document.value)
    except UnicodeEncodeError:
        return document.number, document.line, "it has an unpaired surrogate, which is not valid Unicode"
    return document.number, document.line, document.value, document.item_lines


def main() -> None:
    """Answer the request on standard input, with these seconds of processor time and bytes of memory as arguments."""
    seconds, memory = map(int, sys.argv[1:])
    os.nice(_NICE)
    for name, most in (("RLIMIT_CPU", seconds), ("RLIMIT_AS", memory), ("RLIMIT_CORE", 0)):
        with contextlib.suppress(ValueError, OSError):  # a system without this bound, or with a lower one
            resource.setrlimit(getattr(resource, name), (most, most))
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=_Request)
    answer = msgspec.json.encode(_answer(request))
    if len(answer) > _MOST_OUTPUT:
        raise MemoryError
    sys.stdout.buffer.write(answer)


if __name__ == "__main__":
    main()
