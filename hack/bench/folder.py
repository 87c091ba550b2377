"""Measure the commands on a folder: each starts, reads 2,200 objects, prints its answer and ends."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

import yaml

from bridge.model.changes import Object
from hack.bench.figures import figure, progress
from hack.bench.load import GATEWAYS, Load, custom_resources, policy_kind, service

ROUTES = 1_500
OBJECTS = 2_200  # all together; what the load lacks are Services, as a folder of real applications has them
RUNS = 3
ROUTE = "httproute/team-0/route-0"
COMMANDS = {
    "request": ("http://route-0.l0.g0.example.com/api",),
    "explain": (ROUTE,),
    "impact": ("colorpolicy/infra/gateway-1",),
    "tree": (),
    "status": (),
    "effective": (),
}


async def measure(_: int) -> None:
    """Run each command RUNS times, with the number of routes of the target."""
    with tempfile.TemporaryDirectory() as folder:
        count = await asyncio.to_thread(write_folder, Path(folder), Load(ROUTES), OBJECTS)
        for name, arguments in COMMANDS.items():
            progress(f"bridge {name} on {count:,} objects")
            runs = [await asyncio.to_thread(_run, name, *arguments, "--manifests", folder) for _ in range(RUNS)]
            cpu, wall = (median(values) for values in zip(*runs, strict=True))
            figure(f"folder_{name}", wall, "s", cpu=cpu, objects=count, routes=ROUTES)


def _run(*arguments: str) -> tuple[float, float]:
    """The processor time of a command with its OPA, and its duration."""
    before, began = _used(), time.perf_counter()
    answer = subprocess.run(
        [Path(sys.executable).with_name("bridge"), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if answer.returncode or answer.stderr:
        raise RuntimeError(f"bridge {' '.join(arguments)}: {answer.returncode} {answer.stderr.decode()}")
    return _used() - before, time.perf_counter() - began


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write_folder(folder: Path, load: Load, objects: int = 0) -> int:
    """Write the load as users keep it: a file for each namespace, without the fields that an API server adds.

    Services are added until there are so many `objects`. Returns how many there are.
    """
    files: defaultdict[str, list[Object]] = defaultdict(list)
    every = [*custom_resources(), policy_kind(), *load.bases(), *load.http_routes(), *load.policies()]
    every += [service(f"team-{number % GATEWAYS}", f"spare-{number}") for number in range(objects - len(every))]
    for obj in every:
        kept = {name: value for name, value in obj["metadata"].items() if name != "annotations"}
        files[kept.get("namespace", "cluster")].append({**obj, "metadata": kept})
    for name, members in files.items():
        with (folder / f"{name}.yaml").open("w") as file:
            yaml.dump_all(members, file, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    return len(every)
