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
    """Yield a temporary work tree of a commit, in it the places of these paths that the commit has, and those it lacks.

    If it has none, the only place is an empty folder. The repository is that of the first path. Raises ManifestError
    if there is none, if a path is outside of it or has a submodule, or if the commit is unknown there.
    """
    first = Path(os.path.abspath(paths[0]))  # noqa: PTH100 - `resolve` would follow a link in the repository
    beside = first if first.is_dir() and not first.is_symlink() else first.parent
    top = Path(_git(beside, "rev-parse", "--show-toplevel").strip()).resolve()
    inside = [_path_in(top, path) for path in paths]
    with tempfile.TemporaryDirectory(prefix="policy-bridge-base-") as folder:
        tree = Path(folder) / "tree"
        _git(top, "worktree", "add", "--quiet", "--force", "--detach", str(tree), "--end-of-options", commit)
        try:
            _refuse_submodules(commit, tree, top, inside)
            (empty := Path(folder) / "empty").mkdir()
            missing = [path for path, place in zip(paths, inside, strict=True) if not (tree / place).exists()]
            yield tree, [str(tree / path) for path in inside if (tree / path).exists()] or [str(empty)], missing
        finally:
            _git(top, "worktree", "remove", "--force", str(tree))


def _refuse_submodules(commit: str, tree: Path, top: Path, inside: Sequence[Path]) -> None:
    """Raise ManifestError if one of these paths of a commit's work tree has a submodule: Git checks out no files of it.

    A submodule that the repository at `top` has not checked out either has no files to compare.
    """
    entries = [entry.partition("\t") for entry in _git(tree, "ls-tree", "-r", "-z", "--full-tree", "HEAD").split("\0")]
    for module in [Path(name) for details, _, name in entries if details.startswith("160000 ")]:
        concerned = any(module.is_relative_to(path) or path.is_relative_to(module) for path in inside)
        is_empty = (place := top / module).is_dir() and not any(place.iterdir())
        if concerned and not is_empty:
            raise ManifestError(
                f"{module} is a submodule, whose files {commit} does not have: compare its own repository"
            )


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
        command = ["git", "-C", str(folder), "-c", "core.hooksPath=/dev/null", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise ManifestError("git is not on PATH: --base needs it") from error
    if done.returncode:
        fix = "; a shallow clone may need git fetch first" if "invalid reference" in done.stderr else ""
        raise ManifestError(f"git {arguments[0]}: {done.stderr.strip().removeprefix('fatal: ')}{fix}")
    return done.stdout
