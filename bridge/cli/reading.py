"""What all read commands do alike: open an engine, answer, tell what was wrong with the input."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeVar

from bridge.answers.errors import NameNotFoundError
from bridge.answers.targets import first_of
from bridge.cli.options import Input
from bridge.cli.plain import tell

if TYPE_CHECKING:
    from bridge.runtime.engine import Engine

_Answer = TypeVar("_Answer")

STDIN = "-"
_NAMED = 3  # objects that a warning names
INPUT_ERROR = 2  # the exit code, though the rest was printed


def read(source: Input, ask: Callable[[Engine], Awaitable[_Answer]], types: Sequence[str] = ()) -> tuple[_Answer, int]:
    """What `ask` says of the input, and the exit code: 2 if manifests had faults, each of which is told here.

    `types` are read of a cluster or of manifests besides those that every command needs.
    """
    take_standard_input(source.manifests)
    return asyncio.run(_read(source, ask, types))


def take_standard_input(manifests: Sequence[str]) -> None:
    """Read standard input to its end now, if it is among the manifests, for whoever reads it later.

    A thread of an event loop that waits for it could not be interrupted by Ctrl-C.
    """
    if STDIN in manifests:
        sys.stdin = io.TextIOWrapper(io.BytesIO(sys.stdin.buffer.read()))


async def _read(
    source: Input, ask: Callable[[Engine], Awaitable[_Answer]], types: Sequence[str]
) -> tuple[_Answer, int]:
    async with opened(source, types) as engine:
        try:
            return await ask(engine), INPUT_ERROR if await tell_problems(engine) else 0
        except NameNotFoundError:
            # It may be missing because its file is broken, or because its PolicyKind is refused.
            await tell_problems(engine)
            raise
        except Exception:
            tell_faults(engine)
            raise


def opened(source: Input, types: Sequence[str] = (), *, follow: bool = False) -> AbstractAsyncContextManager[Engine]:
    """The engine behind a command; with `follow` one that takes in what changes."""
    # Imported here, so that help and errors of usage come at once.
    from bridge.opa.address import TlsFiles
    from bridge.runtime.engine import open_engine
    from bridge.runtime.logs import configure_logs

    configure_logs("error", "console")  # what is wrong with manifests is told below, once
    return open_engine(
        opa_url=source.opa_url,
        token=source.token,
        tls=TlsFiles(*source.tls),
        manifests=source.manifests,
        kubeconfig=source.kubeconfig,
        kube_context=source.kube_context,
        types=types,
        follow=follow,
    )


async def tell_problems(engine: Engine) -> bool:
    """Print what is wrong with manifests and with PolicyKinds, one line each; whether the input is at fault."""
    from bridge.answers.asking import refused_policy_kinds, undiscovered

    at_fault = tell_faults(engine)
    for key, message in await refused_policy_kinds(engine.opa):
        position = engine.position(key)
        where = f"{position[0]}:{position[1]}: " if position else ""
        at_fault = at_fault or position is not None
        level = "error" if position else "warning"
        tell(f"{level}: {where}PolicyKind {key.name} is not in force: {message}")
    for key, message in await undiscovered(engine.opa):
        # Its author may be somebody else, and a PolicyKind may describe it anyway: the input is not at fault.
        position = engine.position(key)
        where = f"{position[0]}:{position[1]}: " if position else ""
        tell(f"warning: {where}CRD {key.name} makes no policy kind: {message}")
    return at_fault


def tell_faults(engine: Engine) -> bool:
    """Print what is wrong with the input, one line each; return whether anything was.

    Rego of others that was rejected is one warning: it is not the reader's fault, and the answer is right without it.
    """
    for problem in engine.problems:
        tell(f"error: {problem.subject}: {problem.message}")
    if engine.warnings:
        objects = list(dict.fromkeys(problem.subject for problem in engine.warnings))
        tell(
            f"warning: Rego of {first_of(objects, _NAMED)} is rejected and not part of this answer "
            "(`bridge get modules` shows why)"
        )
    return bool(engine.problems)
