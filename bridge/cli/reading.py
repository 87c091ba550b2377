"""The work that all read commands share: open an engine, query it, print the answer, report faults of the input."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bridge.answers.errors import CommandError, NameNotFoundError
from bridge.answers.targets import first_of, short_key
from bridge.cli import watching
from bridge.cli.options import Input, View, check_watch
from bridge.cli.plain import tell
from bridge.cli.printers import print_answer
from bridge.cli.printers.table import Table

if TYPE_CHECKING:
    from bridge.model.keys import Key
    from bridge.runtime.engine import Engine

_Answer = TypeVar("_Answer")

STDIN = "-"
NOT_OPA = "no_opa_error"  # the code of an error body that OPA did not write
_NAMED = 3  # objects that a warning names
INPUT_ERROR = 2  # the exit code, though the rest was printed


@dataclass(frozen=True, slots=True)
class Form(Generic[_Answer]):
    """How a command shows its answer; the fields are those of `print_answer`.

    `whole`: the tables belong together, so that `--watch` shows all of them again when one differs.
    """

    tables: Callable[[_Answer, bool], Sequence[Table | str]]
    nothing: str
    document: Callable[[_Answer], Any] = lambda answer: answer
    names: Callable[[_Answer], Iterable[str]] | None = None
    whole: bool = False


def show(
    view: View, ask: Callable[[Engine], Awaitable[_Answer]], form: Form[_Answer], types: Sequence[str] = ()
) -> tuple[_Answer, int]:
    """Print what `ask` answers, and return it with the exit code; with `--watch` go on until interrupted.

    `types` are read besides those that every command needs.
    """
    if view.watch:
        check_watch(view.source, view.output)
        watching.watch(
            view.source,
            ask,
            lambda answer: form.tables(answer, view.output == "wide"),
            form.nothing,
            types=types,
            whole=form.whole,
        )
    answer, code = read(view.source, ask, types)
    print_answer(view.output, answer, form.tables, form.nothing, form.document, form.names)
    return answer, code


def read(
    source: Input,
    ask: Callable[[Engine], Awaitable[_Answer]],
    types: Sequence[str] = (),
    *,
    allow_empty: bool = False,
) -> tuple[_Answer, int]:
    """Return what `ask` answers, and the exit code: 2 if manifests had faults, each of which is printed here.

    `types` are read of a cluster or of manifests besides those that every command needs. Files and folders without
    any object are a CommandError, but with `allow_empty`.
    """
    take_standard_input(source.manifests)
    return asyncio.run(_read(source, ask, types, allow_empty=allow_empty))


def take_standard_input(manifests: Sequence[str]) -> None:
    """Read standard input to its end now, if it is among the manifests, for whoever reads it later.

    A thread of an event loop that waits for it could not be interrupted by Ctrl-C.
    """
    if STDIN in manifests:
        sys.stdin = io.TextIOWrapper(io.BytesIO(sys.stdin.buffer.read()))


async def _read(
    source: Input, ask: Callable[[Engine], Awaitable[_Answer]], types: Sequence[str], *, allow_empty: bool
) -> tuple[_Answer, int]:
    from bridge.opa.errors import OpaRejected

    async with opened(source, types) as engine:
        # A generator may have nothing to say on standard input; a folder without objects is probably the wrong one.
        paths = [path for path in source.manifests if path != STDIN]
        if engine.empty and paths and not allow_empty and not engine.problems:
            raise CommandError(f"no objects in {', '.join(paths)}")
        try:
            return await ask(engine), INPUT_ERROR if await tell_problems(engine) else 0
        except NameNotFoundError:
            # It may be missing because its file is broken, or because its PolicyKind is refused.
            await tell_problems(engine)
            raise
        except OpaRejected as error:
            if source.opa_url and error.code == NOT_OPA:
                raise CommandError(
                    f"{source.opa_url} answers, but is not an OPA (HTTP {error.status}): if this is a bridge's own "
                    "address (--listen), give the address of its OPA, which it logs when it starts"
                ) from error
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
    from bridge.answers.asking import policy_kind_doubts, refused_policy_kinds, undescribed, version_problems
    from bridge.model.keys import parse_key

    at_fault = tell_faults(engine)
    for key, message in await refused_policy_kinds(engine.opa):
        position = engine.position(key)
        at_fault = at_fault or position is not None
        level = "error" if position else "warning"
        tell(f"{level}: {_place(engine, key)}PolicyKind {key.name} is not in force: {message}")
    for key, message in await policy_kind_doubts(engine.opa):
        # What it names may be installed later, and the rest of it is in force: the input is not at fault.
        tell(f"warning: {_place(engine, key)}{key.kind} {key.name}: {message}")
    for type_id, about in (await undescribed(engine.opa)).items():
        # The author of a CRD may be somebody else: the input is not at fault.
        where = _place(engine, parse_key(about["crd"])) if "crd" in about else ""
        tell(f"warning: {where}{type_id}: {about['message']}")
    if engine.states is not None:  # an OPA of a running bridge holds what an API server converted
        for key, problem in await version_problems(engine.opa):
            unserved = problem["reason"] == "VersionNotServed"  # no API server takes such a manifest
            at_fault = at_fault or unserved
            tell(f"{'error' if unserved else 'warning'}: {_place(engine, key)}{short_key(key)}: {problem['message']}")
    return at_fault


def _place(engine: Engine, key: Key) -> str:
    position = engine.position(key)
    return f"{position[0]}:{position[1]}: " if position else ""


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
