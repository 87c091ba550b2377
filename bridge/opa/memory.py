"""How much memory a managed OPA may use before Go's garbage collector works harder: more garbage makes OPA faster.

Go reads GOGC and GOMEMLIMIT at the start of a process, and OPA has no way to change them later. Together they do what
a change would: with a high GOGC OPA collects seldom while it holds little (compilation, initial sync), and as soon as
its memory nears GOMEMLIMIT it collects as often as it must.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

GOGC = "400"  # percent of the live heap that may be garbage, as long as there is memory
SHARE = 0.4  # of the container's memory: of 1 GiB the bridge needs up to 190 MiB, and `opa check` up to 384 MiB
_UNLIMITED = 1 << 50  # bytes; cgroup v1 writes a huge number where there is no limit
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def environment_of_opa(
    environ: Mapping[str, str] = os.environ,
    limits: tuple[Path, ...] = _CGROUP_LIMITS,
    *,
    machine: int | None = None,
) -> dict[str, str]:
    """The environment of a managed OPA: that of the bridge, with bounds for Go's garbage where the cgroup has a limit.

    `machine` (bytes) counts as the limit where the cgroup has none. GOGC and GOMEMLIMIT stay as they are if the bridge
    has one of them. Without any limit Go's defaults count.
    """
    inherited = dict(environ)
    limit = memory_limit(limits) or machine
    if limit is None or "GOGC" in inherited or "GOMEMLIMIT" in inherited:
        return inherited
    return {**inherited, "GOGC": GOGC, "GOMEMLIMIT": str(int(limit * SHARE))}


def memory_limit(limits: tuple[Path, ...] = _CGROUP_LIMITS) -> int | None:
    """The memory limit of this process's cgroup in bytes; None where there is none, or it cannot be read."""
    for path in limits:
        try:
            text = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text.isdecimal() and 0 < int(text) < _UNLIMITED:
            return int(text)
    return None


def memory_of_machine() -> int:
    """The memory of this machine in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
