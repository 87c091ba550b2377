"""A folder of manifests (files, standard input) as a change stream: the same stream as of a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from bridge.files import open_regular, read_stream
from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Resolved, Trouble, Upserted
from bridge.model.types import CRD, POLICY_KIND
from bridge.sources.manifest_files import MOST_BYTES, STDIN, ManifestState, find_files
from bridge.sources.pruning import prune

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    import watchfiles

    from bridge.model.keys import Key
    from bridge.sources.known_fields import Doubt

# A watch is lost silently when its folder is moved or created again: a check from time to time finds that.
_LOOK_SECONDS = 5.0
_POLL_SECONDS = 1.0  # between checks if the system provides no more watches
_QUIET_MILLISECONDS = 20  # pause after which a group of changes is delivered
_GROUP_MILLISECONDS = 200  # longest delay of a group


class PathWatch:
    """A watch on files and folders (with all files in them), to be entered before the files are read.

    It reports that something changed, not what.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        import watchfiles  # a command that reads once does not need it

        # A file is watched through its folder: an editor that saves replaces the file.
        folders = {path if path.is_dir() else path.parent for path in paths}
        self._events: AsyncGenerator[set[watchfiles.main.FileChange], None] = watchfiles.awatch(
            *folders,
            watch_filter=None,  # a mounted ConfigMap changes through a hidden link
            recursive=any(path.is_dir() for path in paths),
            debounce=_GROUP_MILLISECONDS,
            step=_QUIET_MILLISECONDS,
            rust_timeout=int(_LOOK_SECONDS * 1000),
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        self._next: asyncio.Task[None] | None = None
        self._blind = False

    async def __aenter__(self) -> Self:
        self._next = asyncio.create_task(self._turn())
        await asyncio.sleep(0)  # one step of the task opens the watch
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)
        await self._events.aclose()

    async def wait(self, woken: asyncio.Event) -> None:
        """Return when something may have changed, or `woken` is set."""
        if self._next is None or self._next.done():
            self._next = asyncio.create_task(self._turn())
        waker = asyncio.create_task(woken.wait())
        try:
            await asyncio.wait({self._next, waker}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waker

    async def _turn(self) -> None:
        if self._blind:
            await asyncio.sleep(_POLL_SECONDS)
            return
        try:
            await anext(self._events)
        except (OSError, RuntimeError, StopAsyncIteration):
            self._blind = True  # the system has no watch left (usually inotify's limits): check periodically


# Objects that others depend on come first: Rego, which OPA needs for links, then a policy kind's schema, then its
# PolicyKind.
_FIRST = ("core/ConfigMap", "policybridge.io/RegoPolicy", CRD, POLICY_KIND, "core/Namespace")


class ManifestSource:
    """The objects in `paths`: files, folders with all their files, `-` for standard input.

    With `follow`, `changes` continues after the first state with the changes of the files. Objects have the API
    server's defaults (semantics K5), by the CRDs among them and by `crds`. A broken document is reported (as Trouble,
    and in `problems`) and the others are delivered.
    """

    def __init__(self, paths: Sequence[Path | str], *, follow: bool, crds: Sequence[Object] = ()) -> None:
        self._paths = [path if path == STDIN else Path(path) for path in paths]
        self._follow = follow
        self._crds = crds
        self._state = ManifestState(self._paths, retried=follow, crds=crds)
        self._wanted: set[str] = set()
        self._listed: set[str] = set()
        self._again = False
        self._woken = asyncio.Event()

    @property
    def problems(self) -> list[Trouble]:
        """Return the errors in the manifests as last read, in the order of the files."""
        return list(self._state.troubles)

    def position(self, key: Key) -> tuple[str, int] | None:
        """Return the file and line of an object; None for an object that is not in the manifests."""
        manifest = self._state.manifests.get(key.object)
        return (manifest.file, manifest.line) if manifest else None

    def doubts(self, crds: Iterable[Object] = ()) -> list[tuple[Key, Doubt]]:
        """Return the kinds and fields of the manifests that their schemas do not have, with the objects' keys.

        `crds` describe kinds in addition to those among the manifests.
        """
        from bridge.sources.known_fields import KnownFields

        crds = [*crds, *self._crds, *(obj for key, obj in self._state.objects.items() if key.type_id == CRD)]
        known = KnownFields(crds)
        return [
            (key, doubt) for key, manifest in self._state.manifests.items() for doubt in known.doubts(manifest.object)
        ]

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Note the wanted kinds.

        A folder delivers all its objects anyway. A kind without objects gets an empty listing, so no reader waits for
        it.
        """
        self._wanted = set(type_ids)
        self._woken.set()

    def relist(self) -> None:
        """Deliver everything again; without `follow` there is no reader left."""
        self._again = True
        self._woken.set()

    def check_paths(self) -> None:
        """Raise ManifestError for a path that does not exist, or a folder that cannot be read."""
        for path in self._paths:
            if isinstance(path, Path):
                find_files(path)

    def mentions(self, texts: Collection[bytes]) -> bool:
        """Return whether a file, or standard input that can be read twice, contains one of these texts.

        Raises ManifestError like `check_paths`.
        """
        for path in self._paths:
            files = find_files(path) if isinstance(path, Path) else [None]
            contents = (_bytes_of(file) if file else _peeked(sys.stdin.buffer) for file in files)
            if any(text in content for content in contents for text in texts):
                return True
        return False

    def load(self, stdin: IO[bytes] | None = None) -> list[Object]:
        """Return all objects, those that others depend on first: for commands that run once.

        `stdin` is the source of the path `-`; default: the process's. Raises ManifestError if a path does not exist or
        cannot be read.
        """
        self._state.refresh(stdin or sys.stdin.buffer)
        return [obj for _, objects in _by_type(self._state.objects) for obj in objects]

    async def changes(self) -> AsyncIterator[Change]:
        """Yield every object, kind by kind, then (with `follow`) changes, until it is closed.

        Raises ManifestError, only at the beginning, if a path does not exist or cannot be read.
        """
        async with contextlib.AsyncExitStack() as stack:
            # Watching begins before the first reading, so no change between the two is lost.
            paths = [path for path in self._paths if isinstance(path, Path)]
            watch = None
            if self._follow and paths:
                watch = await stack.enter_async_context(PathWatch(paths))
            await asyncio.to_thread(self._state.refresh, sys.stdin.buffer)
            for trouble in self._state.troubles:
                yield trouble
            for change in self._tell_all():
                yield change
            while watch is not None:
                await watch.wait(self._woken)
                self._woken.clear()
                if self._again:
                    self._again = False
                    self._listed.clear()
                    for change in self._tell_all():
                        yield change
                for change in self._tell_missing():
                    yield change
                for change in await asyncio.to_thread(self._refresh):
                    yield change

    def _tell_all(self) -> Iterator[Change]:
        for type_id, objects in _by_type(self._state.objects, self._wanted):
            yield from self._tell(type_id, objects)

    def _tell(self, type_id: str, objects: Sequence[Object]) -> Iterator[Change]:
        self._listed.add(type_id)
        yield Listing(type_id)
        if objects:
            yield Upserted(type_id, tuple(map(prune, objects)))
        yield Listed(type_id)

    def _tell_missing(self) -> Iterator[Change]:
        for type_id in sorted(self._wanted - self._listed):
            yield from self._tell(type_id, ())

    def _refresh(self) -> list[Change]:
        before, troubles = self._state.objects, self._state.troubles
        if not self._state.refresh():
            return []
        return [*_news(troubles, self._state.troubles), *self._differences(before, self._state.objects)]

    def _differences(self, before: Mapping[Key, Object], now: Mapping[Key, Object]) -> Iterator[Change]:
        for key in before.keys() - now.keys():
            yield Deleted(key.type_id, key)
        # Most objects are identical, which is a cheap check.
        changed = {
            key: obj for key, obj in now.items() if (old := before.get(key)) is not obj and (old is None or old != obj)
        }
        for type_id, objects in _by_type(changed):
            if type_id in self._listed:
                yield Upserted(type_id, tuple(map(prune, objects)))
            else:
                yield from self._tell(type_id, objects)


def _bytes_of(file: Path) -> bytes:
    try:
        with open_regular(file, MOST_BYTES) as opened:
            return read_stream(opened, MOST_BYTES, file)
    except OSError:
        return b""  # loading reports it


def _peeked(stream: IO[bytes]) -> bytes:
    if not stream.seekable():
        return b""
    content = stream.read()
    stream.seek(0)
    return content


def _by_type(objects: Mapping[Key, Object], wanted: AbstractSet[str] = frozenset()) -> list[tuple[str, list[Object]]]:
    types: dict[str, list[Object]] = {type_id: [] for type_id in wanted}
    for key, obj in objects.items():
        types.setdefault(key.type_id, []).append(obj)
    rank = {type_id: index for index, type_id in enumerate(_FIRST)}
    return sorted(types.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0]))


def _news(before: Iterable[Trouble], now: Sequence[Trouble]) -> Iterator[Change]:
    known = set(before)
    for trouble in now:
        if trouble not in known:
            yield trouble
    subjects = {trouble.subject for trouble in now}
    for subject in dict.fromkeys(trouble.subject for trouble in known):
        if subject not in subjects:
            yield Resolved(subject)
