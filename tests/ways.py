"""Print the ways through the code: the files of `bridge` that a change or a command enters, in order of first entry.

`python -m tests.ways` traces a changed HTTPRoute until its status is patched, and a changed ConfigMap with Rego until
its status is reported, both on a cluster, and the imports of `pbctl effective` on a folder. A way back leads from a
file to one that was entered before. Files that every part uses (logs, metrics, traces, values) are left out, and
so are functions that an idle bridge calls too (it renews its Lease, looks at OPA, and repeats what waits).
"""

import asyncio
import functools
import itertools
import json
import runpy
import signal
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

from tests.bench.load import Load
from tests.bench.observed_statuses import (
    ROUTES,
    create,
    create_load,
    patch,
    session_of,
    until_all_observed,
    until_observed,
)
from tests.cluster import path_of, rego_config_map, running_cluster
from tests.eventually import eventually
from tests.processes import HERE, ROOT, BridgeProcess, Program

SHARED = ("telemetry/", "tracing/", "work.py", "__init__.py", "model/")
PATIENCE = 120.0
SETTLING = 8.0  # seconds after the first statuses, until nothing of the start is under way
IDLE = 35.0  # seconds in which an idle bridge is recorded; its OPA polls the bundle every 30
CONFIG_MAP = rego_config_map("changed", "package ways.changed\n\nvalue := 1\n")
STATUS = "policybridge.io/status"
ARRIVAL = "kube/listwatch.py"  # where every change arrives
COMMAND = ("effective", "httproute/cart#checkout", "-n", "shop", "--manifests", str(ROOT / "examples" / "shop"))


class _Traced(Program):
    """A bridge that records its calls: from the first SIGUSR1 to the second one those of an idle bridge.

    From the second one to the third it records the entered files, and prints them on that, and so on.
    """

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-P", "-m", "tests.ways", "bridge", *arguments]


async def main() -> None:
    """Print the three ways."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with running_cluster(folder / "control-plane") as plane, session_of(plane) as api:
            load = Load(20)
            await create_load(plane, api, load)
            await create(api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "opa-policies"}}])
            options = ["--kubeconfig", str(plane.kubeconfig), "--listen", "127.0.0.1:0"]
            async with BridgeProcess(folder, options, program=_Traced()) as bridge:
                await until_all_observed(api, ROUTES)
                await asyncio.sleep(SETTLING)
                await _record_idle(bridge)
                route = next(load.http_routes())
                changed = await patch(api, route, {"spec": {"hostnames": ["other.l0.g0.example.com"]}})
                await until_observed(api, changed, PATIENCE)
                await _print(bridge, "a changed HTTPRoute, until its status is patched", 1)
                await asyncio.sleep(SETTLING)
                await _record_idle(bridge)
                await create(api, [CONFIG_MAP])
                read = functools.partial(asyncio.to_thread, plane.api.get, path_of(CONFIG_MAP))
                await eventually(read, lambda found: found["metadata"]["annotations"][STATUS], patience=PATIENCE)
                await _print(bridge, "a ConfigMap with Rego, until its status is reported", 2)
    command = _Traced().command(*COMMAND)
    imported = await asyncio.to_thread(subprocess.run, command, env=HERE.environment(), check=True, capture_output=True)
    files = json.loads(imported.stderr.splitlines()[-1])["imported"]
    print(f"\n`pbctl effective` on a folder without Rego: {len(files)} imported files\n\n{_listed(files)}")


async def _record_idle(bridge: BridgeProcess) -> None:
    bridge.signal("bridge", signal.SIGUSR1)
    await asyncio.sleep(IDLE)
    bridge.signal("bridge", signal.SIGUSR1)
    await asyncio.sleep(0.1)


async def _print(bridge: BridgeProcess, about: str, count: int) -> None:
    bridge.signal("bridge", signal.SIGUSR1)
    traced = await bridge.logged("way", count)
    entered = traced["files"]
    files = list(dict.fromkeys(entered))
    if files[:1] != [ARRIVAL]:
        raise RuntimeError(
            f"the bridge was at work while it was recorded as idle, so the way lacks {ARRIVAL}: try again"
        )
    first = {file: entered.index(file) for file in files}
    # Loops repeat them, and a loaded machine more often: each pair of files counts once.
    returns = {(left, file) for place, (left, file) in enumerate(pairwise(entered), 1) if place > first[file]}
    print(f"\n{about}: {len(files)} files, {len(returns)} ways back\n\n{_listed(files)}")


def _listed(files: list[str]) -> str:
    """Return the files by package, in order: `sources cluster, yaml → replicator changes`."""
    parts: list[str] = []
    last = ""
    for file in (file for file in files if not file.endswith("__init__.py")):
        package, _, name = file.removesuffix(".py").rpartition("/")
        parts.append(f", {name}" if package == last else f"\n  {package or '.'}: {name}")
        last = package
    return "".join(parts).lstrip("\n")


def _bridge(arguments: list[str]) -> None:
    """Run `pbctl` in this process with the recorder; at its end print the imported files on standard error."""
    inside = f"{ROOT / 'bridge'}/"
    entered: list[str] = []
    idle: set[CodeType] = set()
    periods = itertools.cycle(("idle", "change", "nothing"))
    period = "nothing"

    def record(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(inside):
            return
        if period == "idle":
            idle.add(code)
            return
        short = code.co_filename.removeprefix(inside)
        if code not in idle and not short.endswith(SHARED) and not short.startswith(SHARED) and entered[-1:] != [short]:
            entered.append(short)

    def toggle(*_: object) -> None:
        nonlocal period
        period = next(periods)
        sys.setprofile(None if period == "nothing" else record)
        if period == "nothing":
            print(json.dumps({"event": "way", "files": entered}), file=sys.stderr, flush=True)
            entered.clear()

    signal.signal(signal.SIGUSR1, toggle)
    sys.argv = ["pbctl", *arguments]
    try:
        runpy.run_module("bridge.cli.main", run_name="__main__")
    finally:
        loaded = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
        files = [file.removeprefix(inside) for file in loaded if file.startswith(inside) and "__init__" not in file]
        print(json.dumps({"imported": files}), file=sys.stderr, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["bridge"]:
        _bridge(sys.argv[2:])
    else:
        asyncio.run(main())
