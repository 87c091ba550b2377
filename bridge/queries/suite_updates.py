"""New values for expectations of suites, in the text of their files: everything else stays as it was written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from bridge.queries.suites import Place, Result


def update_suites(results: Iterable[Result]) -> dict[str, int]:
    """Write the updates of failed tests into their files; return the number of values by file.

    A value that is not written in the file itself, because it is an alias, is left out.
    """
    by_file: dict[str, list[Result]] = {}
    for result in results:
        if result.updates:
            by_file.setdefault(result.file, []).append(result)
    written: dict[str, int] = {}
    for file, failed in by_file.items():
        text = Path(file).read_text(encoding="utf-8")
        changes = _changes(text, {one.line - 1: one.updates for one in failed})
        for start, end, value in sorted(changes, reverse=True):
            text = text[:start] + value + text[end:]
        if changes:
            Path(file).write_text(text, encoding="utf-8")
            written[file] = len(changes)
    return written


def _changes(text: str, updates: dict[int, dict[Place, Any]]) -> set[tuple[int, int, str]]:
    """Return the ranges of the text to replace, for updates by the line of their test."""
    found = set()
    for document in yaml.compose_all(text, Loader=yaml.SafeLoader):
        for test in getattr(_child(document, "tests"), "value", ()):
            for place, value in updates.get(test.start_mark.line, {}).items():
                parent = test
                for name in place[:-1]:
                    parent = _child(parent, name)
                node = _child(parent, place[-1])
                if node is None or node.start_mark.index < test.start_mark.index:
                    continue
                if _is_block(node):  # the new value begins beside its key: a list may be indented as little as this
                    key = next(key for key, child in parent.value if child is node)
                    found.add((text.index(":", key.end_mark.index) + 1, _end(node), f" {_written(value)}"))
                else:
                    found.add((node.start_mark.index, _end(node), _written(value)))
    return found


def _child(node: yaml.Node | None, name: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode):
        items: list[yaml.Node] = node.value
        return items[name] if isinstance(name, int) and name < len(items) else None
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == str(name)), None)
    return None


def _is_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style and bool(node.value)


def _end(node: yaml.Node) -> int:
    """Return where a node ends: a collection in block style ends with its last value, not before the next token."""
    if _is_block(node):
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _written(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=1 << 20).removesuffix("\n...\n").removesuffix("\n")
