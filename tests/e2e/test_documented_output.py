"""The output of commands in README.md and docs/ is their real output.

bash runs the commands of each console block at a terminal of 120 columns, in a folder with `examples`, `deploy`, `rego`
and the files on the page (a yaml block whose first line is `# name.yaml`). `…` stands for text that the page leaves
out: on a line of its own for lines, within a line for text. After a command with `# cut`, more lines can be between and
around the lines on the page. The test skips commands without output, and commands that need more than a folder.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, SHOP
from tests.e2e.serving import bridge_runs
from tests.e2e.terminal import at_a_terminal

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```(?:yaml|rego)\n# ([\w.-]+\.(?:yaml|rego))\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = re.compile(
    r"(?:sed [^|]*\| )?"
    r"(bridge (analyze|config|effective|explain|get|impact|opa-config|placement|rbac|request|status|tree"
    r"|violations|--help|\w[\w-]* --help)|curl -s \S+/v1/data|opa )\b"
)
NOT_RUN = re.compile(
    r"127\.0\.0\.1:8[0-9]{3}\b"  # a bridge or OPA of the reader's own
    r"|\bgrep '\"contrast\"'"  # after a change that the page asks for
    r"|deploy/ |--cluster|--check|<\("  # of a folder that the reader has
    r"|\bjq\b"
)
ADDRESS = re.compile(r"(http://127\.0\.0\.1:38109|\$BRIDGE_OPA_URL|\$OPA)\b")
VARYING = [(re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"), (re.compile(r"[ \t]+"), " ")]


@dataclass(frozen=True)
class Command:
    """A command as a page shows it, with what it says there."""

    page: Path
    line: str
    said: str

    @property
    def cut(self) -> bool:
        """Whether the page shows a part of what it says."""
        return bool(re.search(r" # .*cut", self.line))


def _commands(page: Path) -> Iterator[Command]:
    for block in CONSOLE.findall(page.read_text()):
        line, said = "", ""
        for text in block.splitlines():
            if line and not _closed(line):
                line += "\n" + text
            elif text.startswith("$ "):
                if line:
                    yield Command(page, line, said)
                line, said = text[2:], ""
            else:
                said += text + "\n"
        yield Command(page, line, said)


def _closed(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return False
    return not line.endswith("\\")


def _is_run(command: Command) -> bool:
    return bool(command.said and RUN.match(command.line) and not NOT_RUN.search(command.line))


COMMANDS = [command for page in PAGES for command in _commands(page) if _is_run(command)]


@pytest.fixture(scope="module")
def served(bridge_path: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an OPA that holds `examples/shop`."""
    log = tmp_path_factory.mktemp("served") / "log"
    with bridge_runs(bridge_path, environment, log, "--manifests", SHOP, "--listen", "127.0.0.1:0") as found:
        yield found.opa_url


def _plain(text: str) -> list[str]:
    for varying, word in VARYING:
        text = varying.sub(word, text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _fits(shown: list[str], said: list[str], *, cut: bool) -> bool:
    """Whether the lines of `said` are those of `shown`, with others where these leave some out."""
    reached = set(range(len(said) + 1)) if cut else {0}  # numbers of lines of `said` that may be behind us
    for line in shown:
        if line.strip() == "…":
            reached = set(range(min(reached, default=len(said) + 1), len(said) + 1))
            continue
        pattern = re.compile(re.escape(line).replace("…", ".*"))
        reached = {number + 1 for number in reached if number < len(said) and pattern.fullmatch(said[number])}
        if cut:
            reached = set(range(min(reached, default=len(said) + 1), len(said) + 1))
    return bool(reached) if cut else len(said) in reached


@pytest.mark.parametrize(
    "command", COMMANDS, ids=[f"{command.page.relative_to(ROOT)}: {command.line[:60]}" for command in COMMANDS]
)
def test_a_command_says_what_the_page_shows(
    command: Command, served: str, bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    for name in ("examples", "deploy", "rego", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name, text in FILE.findall(command.page.read_text()):
        (tmp_path / name).write_text(text)
    more = {
        "PATH": f"{bridge_path.parent}:{opa_path.parent}:{environment['PATH']}",
        "BRIDGE_OPA_URL": "" if "--manifests" in command.line else served,
    }
    line = ["bash", "-c", ADDRESS.sub(served, command.line)]
    said = _plain(at_a_terminal(line, {**environment, **more}, 120, tmp_path).replace("\r\n", "\n"))
    if not _fits(_plain(command.said), said, cut=command.cut):
        assert said == _plain(command.said)
