"""With manifests a command's OPA has only the rules of the queries that the command names, so it must name all."""

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bridge.cli.config_dumps import QUERIES as OF_PROXIES
from bridge.cli.read_commands import OF_SELECTOR
from bridge.cli.reading import OF_EVERY_COMMAND

Function = tuple[str, str]  # its module and its name
SENDING = {"query", "in_batches", "in_parts", "partial"}
LABELS: Function = ("bridge.cli.read_commands", "with_labels")
COMMANDS = ("analyze", "describe", "effective", "explain", "get", "problems", "request", "status", "tree")


@cache
def parsed(module: str) -> tuple[dict[str, ast.AST], dict[str, Function]]:
    """The functions and classes of a module, and what it imports of the bridge, by name."""
    file = importlib.import_module(module).__file__
    tree = ast.parse(Path(file or "").read_text())
    defined: dict[str, ast.AST] = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(("bridge.queries", "bridge.opa", "bridge.cli"))
        for alias in node.names
    }
    return defined, {name: (str(place), own) for name, (place, own) in imported.items()}


def used_by(function: Function) -> Iterator[Function]:
    """The functions that a function names, of its module or imported."""
    module, name = function
    defined, imported = parsed(module)
    for node in ast.walk(defined[name]) if name in defined else ():
        if isinstance(node, ast.Name) and node.id in defined:
            yield module, node.id
        if isinstance(node, ast.Name) and node.id in imported:
            yield imported[node.id]


def sent_by(function: Function) -> Iterator[str]:
    """The names of the queries that a function itself sends."""
    module, name = function
    defined, _ = parsed(module)
    for node in ast.walk(defined[name]) if name in defined else ():
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and (
            getattr(called, "attr", "") in SENDING or getattr(called, "id", "") in SENDING
        ):
            yield from [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)][
                :1
            ]


def reached(start: Function) -> set[Function]:
    """The functions that one calls; what the option for labels calls is that option's own."""
    found: set[Function] = set()
    waiting = [start]
    while waiting:
        function = waiting.pop()
        if function not in found and (function == start or function != LABELS):
            found.add(function)
            waiting += used_by(function)
    return found


def sent(command: str, function: str = "") -> set[str]:
    """The queries that a command sends, or another function of its module, without those of every command."""
    start = f"bridge.cli.{command}", function or command
    return {name for function in reached(start) for name in sent_by(function)} - {*OF_EVERY_COMMAND}


@pytest.mark.parametrize("command", COMMANDS)
def test_command_names_every_query_that_it_sends_and_no_other(command: str) -> None:
    """Those about proxies are loaded only where an option of explain names some."""
    named = {*importlib.import_module(f"bridge.cli.{command}").QUERIES}
    assert sent(command) == named | ({"proxy_pods", "verified_targets"} if command == "explain" else set())


def test_option_for_labels_names_every_query_that_it_sends_and_no_other() -> None:
    assert sent("read_commands", "with_labels") == {*OF_SELECTOR}


def test_queries_about_proxies_are_those_of_the_dumps() -> None:
    assert {"proxy_pods", "verified_targets"} < {*OF_PROXIES}
