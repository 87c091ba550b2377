"""A policy loader with a real OPA that downloads its bundle."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, cast

import msgspec
from aiohttp import web
from aiohttp.test_utils import TestServer

from bridge.admission.admission import Policies
from bridge.files import rego_root
from bridge.model.keys import Key
from bridge.opa.bundle import opa_config
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import Shipped, shipped
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.compile_check import Checker
from bridge.policy_loader.loader import Endpoint, Loader
from bridge.policy_loader.submissions import Submission, Verdict
from bridge.policy_loader.used_guardrails import UsedGuardrails
from bridge.sidecar.policy_loading import PolicyLoading, SubmittedPolicies
from tests.bundle_trust import shared_trust, signed_endpoint, unguarded
from tests.eventually import eventually
from tests.ports import free_address
from tests.working import working

# Instead of the shipped modules, which an OPA takes half a second of processor time to compile.
FEW = Shipped({"bridge/v1/links.rego": "package bridge.v1\n\nlinks := {}\n"}, {}, frozenset({"bridge/v1"}))
DEADLINE = 300.0  # seconds; a condition that is not met by then never is


@dataclass
class Bench:
    """A policy loader with an OPA that downloads its bundle."""

    loader: Loader
    opa: Opa
    managed: ManagedOpa
    config: dict[str, Any]
    checker: Checker
    endpoint: Endpoint
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def put(
        self,
        name: str,
        *modules: str,
        version: str = "1",
        tests: str = "",
        data: Any = None,
        created: str = "",
        old: bool = False,
        in_force: str = "",
    ) -> None:
        """Submit modules, or data at `team.<name>`."""
        self.loader.submit(
            Submission(
                author(name),
                version,
                {f"m{number}.rego": text for number, text in enumerate(modules)},
                {"m_test.rego": tests} if tests else {},
                {} if data is None else {("team", name): data},
                created,
                old=old,
                in_force=in_force,
            )
        )

    async def until(self, *met: Callable[[dict[str, Verdict]], bool]) -> None:
        """Wait until the verdicts meet these conditions."""
        await until(lambda: all(one(self.verdicts) for one in met))

    async def until_active(self, *names: str, version: str = "1") -> None:
        """Wait until OPA has a version of each of these."""
        await self.until(
            lambda reported: all(reported[name].programmed and reported[name].version == version for name in names)
        )

    async def refused(self, name: str, version: str = "1") -> tuple[str, int, str, str]:
        """File, line, code and message of the first problem of a version that is not active.

        A check that is only late, as on a loaded machine, is repeated: the result of that counts.
        """

        def is_final(reported: dict[str, Verdict]) -> bool:
            verdict = reported[name]
            return verdict.version == version and [one.code for one in verdict.problems[:1]] not in ([], ["timeout"])

        await self.until(is_final)
        problem = self.verdicts[name].problems[0]
        return problem.file, problem.line, problem.code, problem.message

    async def until_late(self, name: str, version: str = "1") -> None:
        """Wait until the check of a version takes too long."""
        await self.until(lambda _: self.is_late(name, version))

    def is_late(self, name: str, version: str = "1") -> bool:
        """Return whether the check of a version took too long."""
        verdict = self.verdicts.get(name)
        return (
            verdict is not None and verdict.version == version and [one.code for one in verdict.problems] == ["timeout"]
        )


def policies_beside(bench: Bench) -> Policies:
    """A webhook's view of the policies of a bench, as of a bridge whose OPA has all objects.

    The authors are not listed yet, so a failure denies.
    """
    authors = Authors(bench.loader, ["*"])
    guardrails = UsedGuardrails(lambda _: None)
    loading = SimpleNamespace(authors=authors, loader=bench.loader, guardrails=guardrails)
    return SubmittedPolicies(cast("PolicyLoading", loading), SimpleNamespace(unready="", policy_kinds=()))


async def until(met: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    await eventually(met, patience=DEADLINE, pause=0.01)


def author(name: str) -> Key:
    return Key("core", "ConfigMap", "policies", name)


class UsersOpa:
    """An OPA that its user starts with the files in `folder`; it keeps its port. `given`: arguments, configuration."""

    def __init__(self, opa_path: Path, folder: Path, *given: Any) -> None:
        *arguments, config = given
        self._address = free_address()
        self.url = f"http://{self._address}"
        self._folder = folder
        (folder / "config.json").write_bytes(msgspec.json.encode(config))
        self._command = [str(opa_path), "run", "--server", "--addr", self._address, "--skip-version-check", *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    async def __aenter__(self) -> Self:
        await self.restart()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    async def restart(self) -> None:
        """Kill the process, and start another one that responds."""
        await self.__aexit__()
        files = [str(file) for file in sorted(self._folder.glob("*.rego"))]
        config = str(self._folder / "config.json")
        command = [*self._command, "--config-file", config, *files]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: ASYNC220 - it starts at once
        async with Opa(self.url) as opa:
            await eventually(opa.is_ready, patience=DEADLINE)


@asynccontextmanager
async def loading(
    opa_path: Path,
    *,
    listed: bool = True,
    whole: bool = False,
    kubernetes: Callable[[], str] = str,
    start: Callable[[dict[str, Any]], AbstractAsyncContextManager[Any]] | None = None,
    **options: Any,
) -> AsyncIterator[Bench]:
    """Yield a bench. `start` returns an OPA with a configuration, instead of the bridge's own."""
    endpoint = signed_endpoint()
    app = web.Application()
    endpoint.add_to(app, unguarded)
    found = shipped(rego_root()) if whole else FEW
    async with TestServer(app) as server:
        config = opa_config(str(server.make_url("")), shared_trust())
        opened = start(config) if start else ManagedOpa(opa_path, config)
        async with opened as managed, Opa(managed.url) as opa:
            checker = Checker(opa_path, found.modules, **options)
            loader = Loader(opa, endpoint, checker, found, kubernetes)
            endpoint.before_first_bundle(loader.inspect)
            bench = Bench(loader, opa, managed, config, checker, endpoint)
            loader.listen(lambda reported: bench.verdicts.update({reported.author.name: reported}))
            async with working(loader.run):
                if listed:
                    loader.listed()
                    await asyncio.wait_for(loader.wait_until_settled(), DEADLINE)
                yield bench
