"""The work of all read commands: open an engine, query it, print the result, report errors of the input."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bridge.cli import watching
from bridge.cli.options import Input, View, check_watch
from bridge.cli.printers import print_answer
from bridge.cli.printers.table import Table
from bridge.cli.terminal import print_error
from bridge.queries.names import CommandError, NameNotFoundError, first_of, short_key

if TYPE_CHECKING:
    from bridge.model.keys import Key
    from bridge.offline.engine import Engine

_Answer = TypeVar("_Answer")

STDIN = "-"
NOT_OPA = "no_opa_error"  # code of an error body that is not from OPA
_NAMED = 3  # objects that a warning lists
INPUT_ERROR = 2  # exit code, although the rest was printed


@dataclass(frozen=True, slots=True)
class Form(Generic[_Answer]):
    """The output of a command; the fields are those of `print_answer`.

    `whole`: the tables belong together, so `--watch` shows all of them again when one differs.
    """

    tables: Callable[[_Answer, bool], Sequence[Table | str]]
    nothing: str
    document: Callable[[_Answer], Any] = lambda answer: answer
    names: Callable[[_Answer], Iterable[str]] | None = None
    whole: bool = False


def show(
    view: View,
    ask: Callable[[Engine], Awaitable[_Answer]],
    form: Form[_Answer],
    types: Sequence[str] = (),
    queries: Iterable[str] | None = None,
) -> tuple[_Answer, int]:
    """Print the result of `ask`, and return it with the exit code; with `--watch` continue until interrupted.

    `types` are read in addition to those that every command needs. `queries` are those that `ask` sends, by default
    any: with `--manifests` OPA loads only the rules that these and the reports of problems reach.
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
    answer, code = read(view.source, ask, types, queries=queries)
    print_answer(view.output, answer, form.tables, form.nothing, form.document, form.names)
    return answer, code


def read(
    source: Input,
    ask: Callable[[Engine], Awaitable[_Answer]],
    types: Sequence[str] = (),
    *,
    allow_empty: bool = False,
    queries: Iterable[str] | None = None,
) -> tuple[_Answer, int]:
    """Return the result of `ask`, and the exit code: 2 if manifests have errors, which are printed here.

    `types` and `queries` are those of `show`. Input without any object is a CommandError, unless `allow_empty` is set.
    """
    take_standard_input(source.manifests)
    return asyncio.run(_read(source, ask, types, allow_empty=allow_empty, queries=queries))


def take_standard_input(manifests: Sequence[str]) -> None:
    """Read standard input to its end now, if it is among the manifests, for later use.

    Ctrl-C could not interrupt a thread of an event loop that waits for standard input.
    """
    if STDIN in manifests:
        sys.stdin = io.TextIOWrapper(io.BytesIO(sys.stdin.buffer.read()))


async def _read(
    source: Input,
    ask: Callable[[Engine], Awaitable[_Answer]],
    types: Sequence[str],
    *,
    allow_empty: bool,
    queries: Iterable[str] | None,
) -> tuple[_Answer, int]:
    from bridge.opa.errors import OpaRejected

    async with opened(source, types, queries=queries) as engine:
        # A generator may print nothing on standard input, but a folder without objects is probably the wrong one.
        paths = [path for path in source.manifests if path != STDIN]
        if engine.empty and paths and not allow_empty and not engine.problems:
            raise CommandError(f"no objects in {', '.join(paths)}")
        try:
            answer = await ask(engine)
            failing = report_failures(engine)
            return answer, INPUT_ERROR if await report_problems(engine) or failing else 0
        except NameNotFoundError:
            # The kind may be missing because its file is broken, or because its PolicyKind is rejected.
            await report_problems(engine)
            raise
        except OpaRejected as error:
            if source.opa_url and error.code == NOT_OPA:
                raise CommandError(
                    f"{source.opa_url} is not an OPA (HTTP {error.status}): if this is a bridge's own "
                    "address (--listen), give the address of its OPA, which it logs when it starts"
                ) from error
            raise
        except Exception:
            report_faults(engine)
            raise


# Of `report_problems`, and of the search for the objects that a user names.
_QUERIES = ("names", "policykind_doubts", "refused_policykinds", "types", "undescribed", "version_problems")


def opened(
    source: Input, types: Sequence[str] = (), *, follow: bool = False, queries: Iterable[str] | None = None
) -> AbstractAsyncContextManager[Engine]:
    """Open the engine of a command; with `follow` it reads changes. `queries` are those of `show`."""
    # Imported here, so help and usage errors appear immediately.
    from bridge.offline.engine import open_engine
    from bridge.opa.address import TlsFiles
    from bridge.telemetry.logs import configure_logs

    configure_logs("error", "console")  # errors of manifests are reported once, below
    return open_engine(
        opa_url=source.opa_url,
        token=source.token,
        tls=TlsFiles(*source.tls),
        manifests=source.manifests,
        kubeconfig=source.kubeconfig,
        kube_context=source.kube_context,
        types=types,
        follow=follow,
        queries=None if queries is None else {*queries, *_QUERIES},
    )


def report_failures(engine: Engine) -> bool:
    """Print what is not part of the result because a query fails on it, one line each; return whether there is any."""
    for (query, name), error in engine.opa.failures.errors.items():
        print_error(f"error: {name}: left out, because `{query}` fails on it: {error.details}")
    return bool(engine.opa.failures.errors)


async def report_problems(engine: Engine) -> bool:
    """Print errors of manifests and of PolicyKinds, one line each; return whether the input has errors."""
    from bridge.model.keys import parse_key
    from bridge.queries.asking import policy_kind_doubts, refused_policy_kinds, undescribed, version_problems

    at_fault = report_faults(engine)
    for key, message in await refused_policy_kinds(engine.opa):
        position = engine.position(key)
        at_fault = at_fault or position is not None
        level = "error" if position else "warning"
        print_error(f"{level}: {_place(engine, key)}PolicyKind {key.name} is not active: {message}")
    for key, message in await policy_kind_doubts(engine.opa):
        # The kinds that it names may be installed later, and the rest is active: the input has no error.
        print_error(f"warning: {_place(engine, key)}{key.kind} {key.name}: {message}")
    for type_id, about in (await undescribed(engine.opa)).items():
        # Another author may own the CRD: this is not an error of the input.
        where = _place(engine, parse_key(about["crd"])) if "crd" in about else ""
        print_error(f"warning: {where}{type_id}: {about['message']}")
    if not engine.running:  # an OPA of a running bridge holds what an API server converted
        for key, problem in await version_problems(engine.opa):
            unserved = problem["reason"] == "VersionNotServed"  # no API server takes such a manifest
            at_fault = at_fault or unserved
            print_error(
                f"{'error' if unserved else 'warning'}: {_place(engine, key)}{short_key(key)}: {problem['message']}"
            )
    return at_fault


def _place(engine: Engine, key: Key) -> str:
    position = engine.position(key)
    return f"{position[0]}:{position[1]}: " if position else ""


def report_faults(engine: Engine) -> bool:
    """Print errors of the input, one line each; return whether there were any.

    Rejected Rego of other authors is one warning, because the result is correct without it.
    """
    for problem in engine.problems:
        print_error(f"error: {problem.subject}: {problem.message}")
    if engine.warnings:
        objects = list(dict.fromkeys(problem.subject for problem in engine.warnings))
        print_error(
            f"warning: Rego of {first_of(objects, _NAMED)} is rejected and not part of this result "
            "(`bridge get modules` shows why)"
        )
    return bool(engine.problems)
