"""Manifests as they are at a commit of the Git repository that has them."""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bridge.sources.manifests import ManifestError


@contextmanager
def manifests_at(commit: str, paths: Sequence[str]) -> Iterator[tuple[Path, list[str]]]:
    """Yield a temporary work tree of a commit, and in it the places of these files and folders that the commit has.

    If it has none, the only place is an empty folder. The repository is that of the first path. Raises ManifestError
    if there is none, if a path is outside of it, or if the commit is unknown there.
    """
    beside = Path(paths[0]).resolve()
    top = Path(_git(beside if beside.is_dir() else beside.parent, "rev-parse", "--show-toplevel").strip()).resolve()
    try:
        inside = [Path(path).resolve().relative_to(top) for path in paths]
    except ValueError as error:
        raise ManifestError(f"{error}: --base compares paths of one Git repository") from error
    with tempfile.TemporaryDirectory(prefix="policy-bridge-base-") as folder:
        tree = Path(folder) / "tree"
        _git(top, "worktree", "add", "--quiet", "--force", "--detach", str(tree), "--end-of-options", commit)
        try:
            (empty := Path(folder) / "empty").mkdir()
            yield tree, [str(tree / path) for path in inside if (tree / path).exists()] or [str(empty)]
        finally:
            _git(top, "worktree", "remove", "--force", str(tree))


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
