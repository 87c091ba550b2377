"""Files of manifests, and their objects as a change stream: the same stream as of a cluster.

`ManifestState` has the objects and errors of files and their current contents after changes, `ManifestSource` the
stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import itertools
import math
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import msgspec

from bridge.files import MOST_OF_INPUT, STDIN, open_regular, read_stream
from bridge.model.changes import Change, Deleted, Listed, Listing, Object, Resolved, Trouble, Upserted
from bridge.model.keys import group_of
from bridge.model.nesting import MAX_DEPTH, MAX_VALUES, NestingError, as_mapping, exceeds, has_more_values
from bridge.model.types import CRD, POLICY_KIND
from bridge.sources.defaults import Defaulter
from bridge.sources.pruning import prune
from bridge.sources.yaml import UNREADABLE, BrokenDocument, Lines, Place, read_documents

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
    and in `problems`) and the others are delivered. `unchecked` has a line for each kind with rules that `doubts`
    could not evaluate, and for each kustomization that leaves out files.
    """

    def __init__(self, paths: Sequence[Path | str], *, follow: bool, crds: Sequence[Object] = ()) -> None:
        self._paths = [path if path == STDIN else Path(path) for path in paths]
        self._follow = follow
        self._crds = crds
        self._state = ManifestState(self._paths, retried=follow, crds=crds)
        self.unchecked: list[str] = []
        self._unlisted: tuple[Reading, list[str]] | None = None
        self._wanted: set[str] = set()
        self._listed: set[str] = set()
        self._again = False
        self._woken = asyncio.Event()

    @property
    def problems(self) -> list[Trouble]:
        """Return the errors in the manifests as last read, in the order of the files."""
        return list(self._state.reading.troubles)

    @property
    def crds(self) -> list[Object]:
        """Return the CRDs among the manifests."""
        return _crds_of(self._state.reading)

    def position(self, key: Key) -> tuple[str, int] | None:
        """Return the file and line of an object; None for an object that is not in the manifests."""
        manifest = self._state.reading.manifests.get(key.object)
        return (manifest.file, manifest.line) if manifest else None

    def doubts(
        self, crds: Iterable[Object] = (), keys: Collection[str] | None = None, changed: Iterable[Object] = ()
    ) -> list[tuple[Key, Doubt, int]]:
        """Return what an API server refuses or drops of the manifests by their schemas, with key and line.

        `crds` describe kinds in addition to those among the manifests, and `changed` ones in place of them. With `keys`
        only of these objects.
        """
        from bridge.sources.known_fields import Doubt, KnownFields
        from bridge.sources.schemas import Schemas, wrong_metadata

        reading = self._state.reading
        crds = [*crds, *self._crds, *_crds_of(reading), *changed]
        known, schemas = KnownFields(crds, _described_by(reading)), Schemas(crds)
        found = []
        lines: dict[str, Lines | None] = {}
        for key, manifest in reading.manifests.items():
            if keys is not None and str(key) not in keys:
                continue
            written = manifest.object
            wrong = [*wrong_metadata(written), *schemas.wrong_values(reading.objects[key])]
            doubts = [Doubt("InvalidValue", one.message, certain=True, place=one.place) for one in wrong]
            if b"null" in manifest.text:
                doubts += [
                    Doubt("InvalidValue", one.message, certain=False, place=one.place)
                    for one in schemas.refused_nulls(written)
                ]
            if unserved := schemas.unserved_version(written):
                doubts.append(Doubt("VersionNotServed", *unserved, ("apiVersion",)))
            for doubt in (*doubts, *known.doubts(written)):
                if manifest.file not in lines:
                    lines[manifest.file] = _read_lines(manifest.file)
                read = lines[manifest.file]
                found.append((key, doubt, read.of(manifest.line, doubt.place) if read else manifest.line))
        self.unchecked = [
            f"{number} validation rules of {type_id} are not checked: they use functions that only Kubernetes has"
            for type_id, number in sorted(schemas.unchecked_rules().items())
        ]
        self.unchecked += self._find_unlisted(reading)
        return found

    def _find_unlisted(self, reading: Reading) -> list[str]:
        """Return the lines of `find_unlisted`, which are searched once for a reading."""
        if self._unlisted is None or self._unlisted[0] is not reading:
            written_in = {manifest.file for manifest in reading.manifests.values()}
            folders = [path for path in self._paths if isinstance(path, Path) and path.is_dir()]
            self._unlisted = reading, [line for path in folders for line in find_unlisted(path, written_in)]
        return self._unlisted[1]

    def complete(self, crds: Iterable[Object]) -> dict[Key, Object]:
        """Return the objects as last read, with the defaults of these CRDs instead of those among the manifests."""
        defaulter = Defaulter(crds)
        found: dict[Key, Object] = {}
        for manifest in self._state.reading.manifests.values():
            with contextlib.suppress(Exception):  # one that cannot be completed is reported when it is read
                found[defaulter.key_of(manifest.head)] = prune(defaulter.complete_text(manifest.text))
        return found

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
        return next(self._mentioning(texts), None) is not None

    def size(self) -> float:
        """Return the bytes of all files; infinite with standard input or a pipe.

        Raises ManifestError like `check_paths`.
        """
        paths = [find_files(path) if isinstance(path, Path) else None for path in self._paths]
        return sum(sum(map(_size, files)) if files is not None else math.inf for files in paths)

    def load_mentioning(self, texts: Collection[bytes]) -> list[Object]:
        """Return the objects of these files alone. Raises ManifestError like `load`."""
        files = [*self._mentioning(texts)]
        stdin = io.BytesIO(_peek(sys.stdin.buffer)) if STDIN in files else None
        return ManifestSource(files, follow=False).load(stdin) if files else []

    def _mentioning(self, texts: Collection[bytes]) -> Iterator[str]:
        for path in self._paths:
            for file in find_files(path) if isinstance(path, Path) else [None]:
                content = _read_bytes(file) if file else _peek(sys.stdin.buffer)
                if any(text in content for text in texts):
                    yield str(file or STDIN)

    def load(self, stdin: IO[bytes] | None = None) -> list[Object]:
        """Return all objects, those that others depend on first: for commands that run once.

        `stdin` is the source of the path `-`; default: the process's. Raises ManifestError if a path does not exist or
        cannot be read.
        """
        self._state.refresh(stdin or sys.stdin.buffer)
        return [obj for _, objects in _group_by_type(self._state.reading.objects) for obj in objects]

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
            for trouble in self._state.reading.troubles:
                yield trouble
            for change in self._list_all():
                yield change
            while watch is not None:
                await watch.wait(self._woken)
                self._woken.clear()
                if self._again:
                    self._again = False
                    self._listed.clear()
                    for change in self._list_all():
                        yield change
                for type_id in sorted(self._wanted - self._listed):
                    for change in self._list_type(type_id, ()):
                        yield change
                for change in await asyncio.to_thread(self._refresh):
                    yield change

    def _list_all(self) -> Iterator[Change]:
        for type_id, objects in _group_by_type(self._state.reading.objects, self._wanted):
            # In the order of an API server's list: one operation then writes all objects of a new namespace.
            objects.sort(key=lambda obj: obj["metadata"].get("namespace") or "")
            yield from self._list_type(type_id, objects)

    def _list_type(self, type_id: str, objects: Sequence[Object]) -> Iterator[Change]:
        self._listed.add(type_id)
        yield Listing(type_id)
        if objects:
            yield Upserted(type_id, tuple(map(prune, objects)))
        yield Listed(type_id)

    def _refresh(self) -> list[Change]:
        before = self._state.reading
        if not self._state.refresh():
            return []
        now = self._state.reading
        return [*_find_news(before.troubles, now.troubles), *self._differences(before.objects, now.objects)]

    def _differences(self, before: Mapping[Key, Object], now: Mapping[Key, Object]) -> Iterator[Change]:
        for key in before.keys() - now.keys():
            yield Deleted(key.type_id, key)
        # Most objects are identical, which is a cheap check.
        changed = {
            key: obj for key, obj in now.items() if (old := before.get(key)) is not obj and (old is None or old != obj)
        }
        for type_id, objects in _group_by_type(changed):
            if type_id in self._listed:
                yield Upserted(type_id, tuple(map(prune, objects)))
            else:
                yield from self._list_type(type_id, objects)


def _crds_of(reading: Reading) -> list[Object]:
    return [obj for key, obj in reading.objects.items() if key.type_id == CRD]


def _described_by(reading: Reading) -> Iterator[str]:
    """Yield the kinds that PolicyKinds among the manifests describe; a PolicyKind may have any spec."""
    for key, obj in reading.objects.items():
        if key.type_id == POLICY_KIND:
            spec = as_mapping(obj.get("spec"))
            yield f"{spec.get('group')}/{spec.get('kind')}"


def _read_bytes(file: Path) -> bytes:
    try:
        with open_regular(file, MOST_OF_INPUT) as opened:
            return read_stream(opened, MOST_OF_INPUT, file)
    except OSError:
        return b""  # loading reports it


def _size(file: Path) -> float:
    try:
        found = file.stat()
    except OSError:
        return 0  # loading reports it
    return found.st_size if stat.S_ISREG(found.st_mode) else math.inf


def _peek(stream: IO[bytes]) -> bytes:
    if not stream.seekable():
        return b""
    content = stream.read()
    stream.seek(0)
    return content


def _group_by_type(
    objects: Mapping[Key, Object], wanted: AbstractSet[str] = frozenset()
) -> list[tuple[str, list[Object]]]:
    types: dict[str, list[Object]] = {type_id: [] for type_id in wanted}
    for key, obj in objects.items():
        types.setdefault(key.type_id, []).append(obj)
    rank = {type_id: index for index, type_id in enumerate(_FIRST)}
    return sorted(types.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0]))


def _find_news(before: Iterable[Trouble], now: Sequence[Trouble]) -> Iterator[Change]:
    known = set(before)
    for trouble in now:
        if trouble not in known:
            yield trouble
    subjects = {trouble.subject for trouble in now}
    for subject in dict.fromkeys(trouble.subject for trouble in known):
        if subject not in subjects:
            yield Resolved(subject)


_MOST_KUSTOMIZATION = 1 << 20  # bytes
_NAMED = 3  # files of a line
_SUFFIXES = {".yaml", ".yml", ".json"}
SUITE_GROUP = "test.policybridge.io/"  # before the version, in the apiVersion of a suite
_CHART = "Chart.yaml"  # of Helm: what is beside and below it are templates
# Input of kustomize, not an object: it is next to manifests and is never applied itself.
_KUSTOMIZATIONS = {"kustomization.yaml", "kustomization.yml", "Kustomization"}
_KUSTOMIZE_GROUP = "kustomize.config.k8s.io/"  # before the version
_PLAIN_KUSTOMIZATION = {"apiVersion", "kind", "metadata", "resources"}  # fields that change no object
_FLUX_GROUP = "kustomize.toolkit.fluxcd.io/"  # before the version
_FLUX_CHANGES = ("targetNamespace", "namePrefix", "nameSuffix", "components", "patches", "postBuild")


class ManifestError(Exception):
    """A path of manifests that cannot be used: it does not exist or cannot be read. The text names it."""


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """One object as written, and its position: document `number` of `file`, which begins at `line`.

    It keeps the object as JSON, a fourth of the memory. `head` has its apiVersion, kind, and name and namespace.
    """

    text: bytes
    head: Object
    file: str
    line: int
    number: int

    @property
    def object(self) -> Object:
        """Return the object, which the caller may change."""
        found: Object = msgspec.json.decode(self.text)
        return found

    @property
    def where(self) -> str:
        """Return `file:line`."""
        return f"{self.file}:{self.line}"

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Return the identity of this object before its scope and defaults are known."""
        metadata = self.head["metadata"]
        group = self.head["apiVersion"].rpartition("/")[0]
        return group, self.head["kind"], metadata.get("namespace") or "", metadata["name"]

    def trouble(self, reason: str, *, retried: bool) -> Trouble:
        """Return the report of an error in this document."""
        return report(self.file, self.line, self.number, reason, retried=retried)


@dataclass(frozen=True, slots=True)
class FileContent:
    """The contents of one file: its valid objects and the errors of its other documents."""

    manifests: tuple[Manifest, ...]
    troubles: tuple[Trouble, ...]


def _read_lines(file: str) -> Lines | None:
    """Return the lines of a file; None for standard input, or a file that has changed since."""
    try:
        return Lines(Path(file).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return None


def report(file: str, line: int, number: int, reason: str, *, retried: bool) -> Trouble:
    """Return the report of an error in a document, printed as `file:line: document N: reason`."""
    return Trouble(f"{file}:{line}", f"document {number}: {reason}", retried=retried)


def find_files(path: Path, *, follow: bool = False) -> list[Path]:
    """Return the manifest files of a path: the file itself, or those that `kubectl apply -R -f` reads in the folder.

    These are sorted, each once, and hidden files and folders are among them. The files of a Helm chart are not
    manifests. Links to folders are not followed, as by kubectl. With `follow`, versions of a mounted ConfigMap are left
    out: links beside them lead to the current one. Raises ManifestError if the path does not exist, or a folder cannot
    be read.
    """
    if not path.exists():
        raise ManifestError(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    found: dict[str, Path] = {}

    def fail(error: OSError) -> None:
        raise ManifestError(f"{error.filename}: {error.strerror}")

    for folder, folders, files in os.walk(path, onerror=fail):
        folders[:] = [] if _CHART in files else [name for name in folders if not _is_skipped(folder, name, follow)]
        for file in (Path(folder, name) for name in files if _is_manifest(name) and _CHART not in files):
            real = os.path.realpath(file)
            if real not in found or file.is_symlink() < found[real].is_symlink():
                found[real] = file
    return sorted(found.values())


def _refuse_outside(file: Path, root: Path) -> None:
    """Raise OSError for a link in a folder to a file that is not in it: reports would show that file's text."""
    if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root)):
        raise PermissionError(errno.EPERM, f"it is a link to a file outside of {root}: name that file as well")


def _is_skipped(folder: str, name: str, follow: bool) -> bool:
    return name == ".git" or (follow and name.startswith("..") and Path(folder, "..data").is_symlink())


def find_unrendered(path: Path, files: Iterable[Path], *, retried: bool) -> list[Trouble]:
    """Return a report for each Helm chart in a folder, and for each kustomization that changes objects or adds others.

    `files` are the manifest files of the folder. Only their tools render the others, so each report has the command.
    `retried` is part of the reports.
    """
    found = []
    read = {os.path.normpath(file) for file in files}
    for folder, folders, names in os.walk(path):
        if _CHART in names:
            folders[:] = []
            reason = f"a Helm chart is not rendered: use helm template NAME {folder} | pbctl … --manifests -"
            found.append(Trouble(os.path.normpath(Path(folder, _CHART)), reason, retried=retried))
            continue
        folders[:] = sorted(name for name in folders if not _is_skipped(folder, name, retried))
        for file in (Path(folder, name) for name in sorted(_KUSTOMIZATIONS.intersection(names))):
            if _changes_objects(file, read):
                reason = f"a kustomization is not applied: use kubectl kustomize {folder} | pbctl … --manifests -"
                found.append(Trouble(os.path.normpath(file), reason, retried=retried))
    return found


def find_flux_changes(root: Path, manifests: Iterable[Manifest], *, retried: bool) -> list[Trouble]:
    """Return a report for each Kustomization of Flux that changes the objects of a folder in `root`.

    Only Flux renders them, so each report has the command. `retried` is part of the reports.
    """
    found = []
    for manifest in manifests:
        version, kind = manifest.head["apiVersion"], manifest.head["kind"]
        if kind != "Kustomization" or not version.startswith(_FLUX_GROUP):
            continue
        spec = manifest.object.get("spec")
        if not isinstance(spec, dict):
            continue
        changes = [field for field in _FLUX_CHANGES if spec.get(field)]
        folder = _find_flux_folder(root, spec.get("path"))
        if changes and folder is not None:
            name = manifest.head["metadata"]["name"]
            build = f"flux build kustomization {name} --dry-run --kustomization-file {manifest.file} --path {folder}"
            reason = f"{', '.join(changes)} of Flux is not applied to {folder}: use {build} | pbctl … --manifests -"
            found.append(manifest.trouble(reason, retried=retried))
    return found


def _find_flux_folder(root: Path, path: Any) -> Path | None:
    """Return the folder in `root` that a Kustomization of Flux names; None if there is none.

    Its path begins at the top of the repository, which is `root` or a folder above it.
    """
    parts = Path(path).parts if isinstance(path, str) else ()
    top = root.resolve()
    for above in (top, *top.parents):
        folder = Path(above, *(part for part in parts if part not in {".", "/"}))
        if ".." not in parts and folder.is_relative_to(top) and os.path.isdir(folder):  # noqa: PTH112 - false for an unusable name
            return root / folder.relative_to(top)
    return None


def find_unlisted(path: Path, written_in: Collection[str]) -> Iterator[str]:
    """Yield a line for each kustomization of a folder that does not list all files of objects beside and below it.

    `written_in` are the files of objects. `kubectl apply -k` leaves out a file that is not listed. One that changes
    objects is reported as such.
    """
    found: dict[str, tuple[Path, set[str] | None]] = {}  # by folder; None if it does more than list
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not _is_skipped(folder, name, follow=False)]
        for file in (Path(folder, name) for name in sorted(_KUSTOMIZATIONS.intersection(names))):
            values = _kustomizations_in(file) or ()
            plain = values and all(isinstance(one, dict) and one.keys() <= _PLAIN_KUSTOMIZATION for one in values)
            listed = {os.path.normpath(Path(folder, one)) for value in values for one in _resources_of(value)}
            found[os.path.normpath(folder)] = file, listed if plain else None
    unlisted: dict[str, list[str]] = {}
    for name in sorted(written_in):
        above = next((str(one) for one in Path(name).parents if str(one) in found), None)
        itself, known = found[above] if above else (None, None)
        if above and known is not None and name not in known and Path(name) != itself:
            unlisted.setdefault(above, []).append(os.path.relpath(name, above))
    for folder, names in unlisted.items():
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        first = ", ".join(names[:_NAMED])
        yield f"{found[folder][0]}: kubectl apply -k leaves out what it does not list: {first}{more}"


def _resources_of(value: Any) -> list[str]:
    resources = value.get("resources") if isinstance(value, dict) else None
    return [one for one in resources if isinstance(one, str)] if isinstance(resources, list) else []


def _kustomizations_in(file: Path) -> list[Any] | None:
    """Return the documents of a file that are input of kustomize, None for broken ones; None if it cannot be read."""
    try:
        with open_regular(file, _MOST_KUSTOMIZATION) as opened:
            text = read_stream(opened, _MOST_KUSTOMIZATION, file).decode()
    except (OSError, UnicodeDecodeError):
        return None
    values = [None if isinstance(document, BrokenDocument) else document.value for document in read_documents(text)]
    # With an ending, another document is read as a manifest, and a broken one is reported.
    return [value for value in values if not file.suffix or (value is not None and is_kustomization(value))]


def _changes_objects(kustomization: Path, read: Collection[str]) -> bool:
    """Return whether rendering may give other objects than those of the files that are read."""
    values = _kustomizations_in(kustomization)
    if values is None:
        return True
    for value in values:
        if not isinstance(value, dict) or not value.keys() <= _PLAIN_KUSTOMIZATION:
            return True
        resources = value.get("resources") or []
        if not isinstance(resources, list) or not all(_is_read(kustomization.parent, one, read) for one in resources):
            return True
    return False


def _is_read(folder: Path, resource: Any, read: Collection[str]) -> bool:
    """Return whether a resource of a kustomization is a file that is read, or a folder below with such files."""
    if not isinstance(resource, str) or ".." in Path(resource).parts or Path(resource).is_absolute():
        return False
    path = folder / resource
    steps = itertools.accumulate(Path(resource).parts, Path.joinpath, initial=folder)
    is_reached = path.is_dir() and not any(step.is_symlink() for step in steps if step != folder)
    return is_reached or os.path.normpath(path) in read


def is_kustomization(value: Any) -> bool:
    """Return whether a document in a file with that name is input of kustomize; any other one is a manifest."""
    if not isinstance(value, dict):
        return True
    version = value.get("apiVersion")
    return ("apiVersion" not in value and "kind" not in value) or str(version).startswith(_KUSTOMIZE_GROUP)


def _is_manifest(name: str) -> bool:
    return Path(name).suffix in _SUFFIXES or name in _SUFFIXES


def read_content(content: bytes, file: str, *, retried: bool, is_hidden: bool = False) -> FileContent:
    """Return the objects in the bytes of a file, with Lists expanded, and a report for each invalid document.

    `retried` is part of the reports: whether the file is read again when it changes. Documents of a hidden file with
    neither apiVersion nor kind are settings of other tools.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return FileContent((), (report(file, line, 1, "not UTF-8 text", retried=retried),))
    named = Path(file).name in _KUSTOMIZATIONS
    manifests: list[Manifest] = []
    troubles: list[Trouble] = []
    for document in read_documents(text):
        if isinstance(document, BrokenDocument):
            troubles.append(report(file, document.line, document.number, document.reason, retried=retried))
            continue
        if is_suite(document.value) or is_baseline(document.value) or (named and is_kustomization(document.value)):
            continue
        if is_hidden and not (isinstance(document.value, dict) and document.value.keys() & {"apiVersion", "kind"}):
            continue
        for value, line in take_apart(document.value, document.line, document.item_lines):
            if is_suite(value):  # of a List
                continue
            if fault := _check_object(value):
                reason, place = fault
                at = Lines(text).of(line, place) if place else line
                troubles.append(report(file, at, document.number, reason, retried=retried))
            else:
                manifests.append(Manifest(msgspec.json.encode(value), _head_of(value), file, line, document.number))
    return FileContent(tuple(manifests), tuple(troubles))


def _head_of(obj: Object) -> Object:
    metadata = {name: obj["metadata"][name] for name in ("namespace", "name") if name in obj["metadata"]}
    return {"apiVersion": obj["apiVersion"], "kind": sys.intern(obj["kind"]), "metadata": metadata}


def is_suite(value: Any) -> bool:
    """Return whether a document is for `pbctl test`: it is beside manifests and is never applied."""
    version = value.get("apiVersion") if isinstance(value, dict) else None
    return isinstance(version, str) and version.startswith(SUITE_GROUP)


def is_baseline(value: Any) -> bool:
    """Return whether a document is a file of `pbctl problems --baseline`, which may be beside manifests."""
    return isinstance(value, dict) and value.keys() == {"problems"} and isinstance(value["problems"], list)


def take_apart(value: Any, line: int, item_lines: Sequence[int]) -> Iterator[tuple[Any, int]]:
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
        yield from take_apart(whole, item_lines[index] if index < len(item_lines) else line, ())


def _check_object(value: Any) -> _Fault | None:
    """Why a value is not an object of the Kubernetes API; None if it is one."""
    if not isinstance(value, dict):
        return f"no object but a {'list' if isinstance(value, list) else 'plain value'}: a manifest is a mapping", ()
    for field in ("apiVersion", "kind"):
        if fault := _check_text(value.get(field), field):
            return fault
    if fault := _check_metadata(value.get("metadata")):
        return fault
    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:
        return "a string in it is not valid Unicode", ()
    if has_more_values(text, MAX_VALUES):
        return f"it has more than {MAX_VALUES} fields and items", ()
    return (str(NestingError()), ()) if exceeds(text, MAX_DEPTH) else None


def _check_metadata(metadata: Any) -> _Fault | None:
    if metadata is not None and not isinstance(metadata, dict):
        return "metadata is not a mapping", ("metadata",)
    metadata = metadata or {}
    if "name" not in metadata and "generateName" in metadata:
        return "metadata.name is missing: manifests cannot have generated names", ("metadata", "generateName")
    if fault := _check_text(metadata.get("name"), "metadata", "name"):
        return fault
    if metadata.get("namespace") is not None and (fault := _check_text(metadata["namespace"], "metadata", "namespace")):
        return fault
    for field in ("labels", "annotations"):
        if fault := _check_texts(metadata.get(field), field):
            return fault
    for field in ("name", "namespace"):
        name = metadata.get(field)
        if name in {".", ".."} or any(sign in "/%" or sign.isspace() for sign in name or ""):
            return f"metadata.{field} {name!r} is not a valid Kubernetes name", ("metadata", field)
    return None


def _check_texts(texts: Any, field: str) -> _Fault | None:
    if not isinstance(texts, dict | None):
        return f"metadata.{field} is not a mapping", ("metadata", field)
    faults = (_check_type(value, "metadata", field, name) for name, value in (texts or {}).items() if value is not None)
    return next(filter(None, faults), None)


def _check_text(value: Any, *place: str) -> _Fault | None:
    return (f"{'.'.join(place)} is missing", place) if value is None or value == "" else _check_type(value, *place)


def _check_type(value: Any, *place: str) -> _Fault | None:
    """Why a value is not text. A message has no nested values: a link may lead to a file with secrets."""
    if isinstance(value, str):
        return None
    field = ".".join(place[:2]) + "".join(f"[{name!r}]" for name in place[2:])
    if isinstance(value, dict | list):
        return f"{field} is not a string but a {'list' if isinstance(value, list) else 'mapping'}", place
    return f"{field} is not a string ({value!r}): quote it", place


_Fault = tuple[str, Place]  # a reason, and the place of the value in the object
_Signature = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _File:
    signature: _Signature
    content: FileContent


@dataclass(frozen=True, slots=True)
class Reading:
    """What a refresh found: `objects` are completed, in the order of the files; `manifests` has the position of each.

    `troubles` are the errors.
    """

    objects: Mapping[Key, Object]
    manifests: Mapping[Key, Manifest]
    troubles: Sequence[Trouble]


class ManifestState:
    """The manifests of `paths`; `reading` is what the last `refresh` found, which replaces it as a whole.

    A thread that uses a reading is not disturbed by a refresh in another one. `retried` means that there will be
    further refreshes. `crds` describe kinds in addition to those that the manifests define themselves.
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
        self.reading = Reading({}, {}, ())

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
                found = find_files(path, follow=self._retried)
            except ManifestError as error:
                if first:
                    raise
                lost.append(Trouble(str(path), f"{error}; its previous objects are kept", retried=self._retried))
                files |= {name: self._files[name] for name in self._found.get(path, ())}
                continue
            if path.is_dir():
                lost += find_unrendered(path, found, retried=self._retried)
            names = [name for file in found if (name := os.path.normpath(file)) not in files]
            read = {name: file for name in names if (file := self._read(name, path, first=first)) is not None}
            self._found[path] = list(read)
            files |= read
            if path.is_dir():
                parsed = (manifest for file in read.values() for manifest in file.content.manifests)
                lost += find_flux_changes(path, parsed, retried=self._retried)
        if not first and files == self._files and lost == self._lost:
            return False
        self._files, self._lost = files, lost
        self._assemble()
        return True

    def _read_stdin(self, stdin: IO[bytes] | None) -> _File:
        if STDIN not in self._files:
            content = read_stream(stdin, MOST_OF_INPUT, STDIN) if stdin is not None else b""
            self._files[STDIN] = _File((), read_content(content, STDIN, retried=False))
        return self._files[STDIN]

    def _read(self, name: str, root: Path, *, first: bool) -> _File | None:
        is_hidden = any(part.startswith(".") for part in Path(os.path.relpath(name, root)).parts if part != ".")
        before = self._files.get(name)
        try:
            path = Path(name)
            # Users may name a pipe; a link in a folder is followed only to a regular file.
            with path.open("rb") if path in self._paths else open_regular(path, MOST_OF_INPUT) as opened:
                if path not in self._paths:
                    _refuse_outside(path, root)
                status = os.fstat(opened.fileno())
                # A file that is replaced within the clock's resolution has another inode or size.
                signature: _Signature = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)
                if before is not None and before.signature == signature:
                    return before
                text = read_stream(opened, MOST_OF_INPUT, name)
                content = read_content(text, name, retried=self._retried, is_hidden=is_hidden)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not Path(name).is_symlink():
                return None  # it was deleted since the folder was read
            if first and any(Path(name) == path for path in self._paths):
                raise ManifestError(f"{name}: {error.strerror}") from error
            trouble = Trouble(f"{name}:1", f"cannot read it: {error.strerror}", retried=self._retried)
            signature = (error.errno or 0,)
            if before is not None and before.signature == signature:
                return before
            content = FileContent((), (trouble,))
        return _File(signature, _keep_last_good(content, before.content if before else None))

    def _assemble(self) -> None:
        manifests = [manifest for file in self._files.values() for manifest in file.content.manifests]
        crds = [manifest for manifest in manifests if _is_crd(manifest.head)]
        if crds != self._crds:
            self._crds = crds
            self._defaulter = Defaulter([*self._further, *(manifest.object for manifest in crds)])
            self._completed = {}
        troubles = self._lost + [trouble for file in self._files.values() for trouble in file.content.troubles]
        completed: dict[Manifest, Object] = {}
        objects: dict[Key, Object] = {}
        places: dict[Key, Manifest] = {}
        for manifest in manifests:
            try:
                key = self._defaulter.key_of(manifest.head)
                obj = self._completed.get(manifest) or self._defaulter.complete_text(manifest.text)
            except Exception as error:  # noqa: BLE001 - whatever an author has written, the other objects are read
                reason = f"{UNREADABLE} ({type(error).__name__}): simplify it"
                troubles.append(manifest.trouble(reason, retried=self._retried))
                continue
            if key in places:
                reason = f"{key} is already defined at {places[key].where}: the bridge ignores this one"
                troubles.append(manifest.trouble(reason, retried=self._retried))
                continue
            completed[manifest] = objects[key] = obj
            places[key] = manifest
        self._completed = completed
        self.reading = Reading(objects, places, troubles)


def _keep_last_good(content: FileContent, before: FileContent | None) -> FileContent:
    """Keep objects that a file with errors no longer has: they may be deleted, or in a broken document."""
    if before is None or not content.troubles:
        return content
    parsed = {manifest.identity for manifest in content.manifests}
    kept = tuple(manifest for manifest in before.manifests if manifest.identity not in parsed)
    return FileContent(content.manifests + kept, content.troubles)


def _is_crd(obj: dict[str, Any]) -> bool:
    return f"{group_of(obj['apiVersion'])}/{obj['kind']}" == CRD
