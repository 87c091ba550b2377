"""Manifests as they are at a commit of the Git repository that has them."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bridge.sources.manifests import ManifestError


@contextmanager
def manifests_at(commit: str, paths: Sequence[str]) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield a temporary work tree of a commit, in it the places of these paths that the commit has, and warnings.

    If it has none, the only place is an empty folder. The repository is that of the first path. Raises ManifestError
    if there is none, if a path is outside of it or has a submodule to compare, or if the commit is unknown there.
    """
    first = Path(os.path.abspath(paths[0]))  # noqa: PTH100 - `resolve` would follow a link in the repository
    beside = first if first.is_dir() and not first.is_symlink() else first.parent
    top = Path(_git(beside, "rev-parse", "--show-toplevel").strip()).resolve()
    inside = [_path_in(top, path) for path in paths]
    with tempfile.TemporaryDirectory(prefix="policy-bridge-base-") as folder:
        tree = Path(folder) / "tree"
        _git(top, "worktree", "add", "--quiet", "--force", "--detach", str(tree), "--end-of-options", commit)
        try:
            unread = _submodules_without_files(commit, tree, top, inside)
            (empty := Path(folder) / "empty").mkdir()
            warnings = [
                f"{path} does not exist at {commit}: all of its objects are new, and none is deleted"
                for path, place in zip(paths, inside, strict=True)
                if not (tree / place).exists()
            ]
            warnings += [f"{one} is a submodule that is not checked out: its manifests are not read" for one in unread]
            yield tree, [str(tree / path) for path in inside if (tree / path).exists()] or [str(empty)], warnings
        finally:
            _git(top, "worktree", "remove", "--force", str(tree))


def _submodules_without_files(commit: str, tree: Path, top: Path, inside: Sequence[Path]) -> list[Path]:
    """Return the submodules at these paths of which neither a commit's work tree nor the one at `top` has files.

    Git checks out no files of submodules in a commit's work tree. Raises ManifestError for a submodule that the work
    tree at `top` has or whose commit differs: its objects would look new, or unchanged.
    """
    paths, above = map(str, inside), {str(one) for path in inside for one in path.parents if one != Path()}
    before = _submodules_in(_git(tree, "ls-tree", "-r", "-z", "--full-tree", "HEAD", "--", *paths))
    if above:
        before |= _submodules_in(_git(tree, "ls-tree", "-z", "--full-tree", "HEAD", "--", *sorted(above)))
    now = _submodules_in(_git(top, "ls-files", "--stage", "-z"))
    unread = []
    for module in sorted(before.keys() | now.keys()):
        if not any(module.is_relative_to(path) or path.is_relative_to(module) for path in inside):
            continue
        is_empty = (place := top / module).is_dir() and not any(place.iterdir())
        if module in before and not is_empty:
            raise ManifestError(
                f"{module} is a submodule, whose files {commit} does not have: compare its own repository"
            )
        if is_empty and before.get(module) != now.get(module):
            raise ManifestError(
                f"{module} is a submodule that differs between {commit} and the index and is not checked out: its "
                "objects were not compared; compare its own repository"
            )
        if is_empty:
            unread.append(module)
    return unread


def _submodules_in(listed: str) -> dict[Path, str]:
    """Return the commits of submodules by their paths, from the entries that `ls-tree` or `ls-files --stage` lists."""
    found = {}
    for entry in listed.split("\0"):
        details, _, name = entry.partition("\t")
        if details.startswith("160000 "):
            found[Path(name)] = next(word for word in details.split()[1:] if word != "commit")
    return found


def _path_in(top: Path, path: str) -> Path:
    """Return a path relative to its repository. Links below that are kept: a commit may have others there.

    One that leads out of the work tree is refused: reports would show what is there.
    """
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - the same
    for above in (*reversed(whole.parents), whole):
        if above.resolve() == top:
            real = Path(os.path.realpath(path))
            if not real.is_relative_to(top) or ".git" in real.relative_to(top).parts:
                raise ManifestError(f"{path} is a link to a place outside of the work tree {top}: name that place")
            return whole.relative_to(above)
    raise ManifestError(f"{path} is not in {top}: --base compares paths of one Git repository")


def _git(folder: Path, *arguments: str) -> str:
    try:
        command = ["git", "-C", str(folder), "--literal-pathspecs", "-c", "core.hooksPath=/dev/null", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", check=False)
    except FileNotFoundError as error:
        raise ManifestError("git is not on PATH: --base needs it") from error
    if done.returncode:
        fix = "; a shallow clone may need git fetch first" if "invalid reference" in done.stderr else ""
        raise ManifestError(f"git {arguments[0]}: {done.stderr.strip().removeprefix('fatal: ')}{fix}")
    return done.stdout
