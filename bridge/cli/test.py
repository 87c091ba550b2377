"""`pbctl test`: run the suites of expectations in files and folders."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET  # only written, never parsed

import click

from bridge.cli.annotations import workflow_command
from bridge.cli.command import command, option
from bridge.cli.options import output_option
from bridge.cli.output import print_error, to_json
from bridge.cli.reading import read
from bridge.cli.source import Input
from bridge.model.text import plain
from bridge.queries.names import CommandError

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.queries.suites import Found, Result

_FAILED = 1  # exit code
_LOOK = 0.5  # seconds between looks at the files of --watch


@command(
    "Test expectations about effective policies",
    click.Argument(["paths"], metavar="[PATH]...", nargs=-1),
    option("-k", "words", metavar="TEXT", default="", help="Only tests whose name contains this text."),
    option("-w", "--watch", is_flag=True, help="Test again after each change of a file, until Ctrl-C."),
    option("--schema", is_flag=True, help="Print the JSON schema of suites."),
    output_option("text", "json", "junit", "github"),
)
def test(paths: tuple[str, ...], words: str, watch: bool, schema: bool, output: str) -> int:
    """Run the suites in files and folders: expectations about what is in effect, with or without changes.

    A suite is a YAML document with apiVersion test.policybridge.io/v1alpha1 and kind Suite, beside the manifests that
    it is about. The tests of files `…_test.rego` run too. The exit code is 1 if a test fails, 2 if a suite is invalid
    or manifests have errors. `pbctl init tests` writes a suite of what is in effect now.

    Examples:
        # Run all suites below a folder
        pbctl test deploy/
        # Write test results for CI
        pbctl test deploy/ -o junit >results.xml
        # Print the schema of suites, for completion in editors
        pbctl test --schema >suite.schema.json
    """
    from bridge.queries.suites import suite_schema

    if schema:
        sys.stdout.write(to_json(suite_schema()))
        return 0
    if not paths:
        raise CommandError("missing path: give files or folders with suites")
    if watch and output != "text":
        raise CommandError("--watch prints text: leave out -o")
    while watch:
        before = _state(paths)
        try:
            _run(paths, words, output)
        except CommandError as error:  # of a file that is being edited
            print_error(str(error))
        while _state(paths) == before:
            time.sleep(_LOOK)
    return _run(paths, words, output)


def _state(paths: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return the files below these paths and below their suites' manifests, each with its time and size."""
    from bridge.queries.suites import find_suites

    try:
        read = {*paths, *(path for found in find_suites(paths) for path in found.manifests)}
    except CommandError:  # which the run reports
        read = set(paths)
    files = {file for path in map(Path, read) for file in ([path] if path.is_file() else path.rglob("*"))}
    state = []
    for file in sorted(files):
        with contextlib.suppress(OSError):  # deleted meanwhile
            found = file.stat()
            state.append((str(file), found.st_mtime_ns, found.st_size))
    return state


def _run(paths: Sequence[str], words: str, output: str) -> int:
    """Run all tests and print their results; return the exit code."""
    from bridge.queries.rego_tests import rego_files, run_rego_tests
    from bridge.queries.suites import find_suites

    suites, rego = find_suites(paths), rego_files(paths)
    if not suites and not rego:
        raise CommandError(f"no suites in {', '.join(paths)}; a suite has apiVersion test.policybridge.io/v1alpha1")
    started = time.monotonic()
    results, code = [], 0
    of_rego = ((result, 0) for result in (run_rego_tests(rego, words) if rego else ()))
    for result, read_code in itertools.chain(_results(suites, words), of_rego):
        results.append(result)
        code = max(code, read_code)
        if output == "text":
            click.echo("\n".join(map(plain, _lines(result))))
    if not results:
        raise CommandError(f"no test has a name with {words!r}" if words else f"no tests in {', '.join(paths)}")
    failed = sum(not result.passed for result in results)
    match output:
        case "text":
            counts = f"{failed:,} failed, " if failed else ""
            click.echo(f"{counts}{len(results) - failed:,} passed in {time.monotonic() - started:.1f} s")
        case "json":
            sys.stdout.write(to_json([_document(one) for one in results]))
        case "junit":
            sys.stdout.write(_junit(results))
        case _:
            sys.stdout.writelines(_annotations(results))
    return code or (_FAILED if failed else 0)


def _results(suites: Sequence[Found], words: str) -> Iterator[tuple[Result, int]]:
    """Run the tests with these words in their names; suites about the same manifests share an engine.

    Yields each result with the exit code for errors of its manifests.
    """
    from bridge.queries.suites import run_test

    by_manifests: dict[tuple[str, ...], list[tuple[Found, int]]] = {}
    for found in suites:
        chosen = [(found, number) for number, case in enumerate(found.suite.tests) if words in case.name]
        if chosen:
            by_manifests.setdefault(found.manifests, []).extend(chosen)
    for manifests, tests in by_manifests.items():

        async def ask(engine: Engine, tests: Sequence[tuple[Found, int]] = tests) -> list[Result]:
            return [await run_test(engine, found, number) for found, number in tests]

        applied = {
            str(found.file.parent / name) for found, number in tests for name in found.suite.tests[number].changes.apply
        }
        results, code = read(Input(manifests=manifests, applied=tuple(sorted(applied))), ask, allow_empty=True)
        for result in results:
            yield result, code


def _document(result: Result) -> dict[str, Any]:
    names = ("file", "line", "name", "differences", "error", "passed")
    return {name: getattr(result, name) for name in names}


def _lines(result: Result) -> Iterator[str]:
    outcome = "PASSED" if result.passed else "ERROR" if result.error else "FAILED"
    yield f"{result.file}:{result.line}: {result.name} {outcome}"
    yield from (f"  {line}" for line in ([result.error] if result.error else result.differences))


def _junit(results: Sequence[Result]) -> str:
    counts = {
        "tests": len(results),
        "failures": sum(bool(result.differences) for result in results),
        "errors": sum(bool(result.error) for result in results),
    }
    suites = ET.Element("testsuites", {name: str(count) for name, count in counts.items()})
    suite = ET.SubElement(suites, "testsuite", {"name": "Policy Bridge", **suites.attrib})
    for result in results:
        about = {"name": plain(result.name), "classname": "policy-bridge"}
        case = ET.SubElement(suite, "testcase", {**about, "file": plain(result.file), "line": str(result.line)})
        if not result.passed:
            text = plain(result.error) or "\n".join(map(plain, result.differences))
            ET.SubElement(case, "error" if result.error else "failure", {"message": text.split("\n")[0]}).text = text
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode") + "\n"


def _annotations(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        if not result.passed:
            text = result.error or "\n".join(result.differences)
            yield workflow_command("error", text, file=result.file, line=str(result.line), title=result.name) + "\n"
