"""What README.md and docs/ ask readers to type: files and commands, in the order of a page.

A file is a yaml or rego block whose first line is `# name.yaml`. A command is a line of a console block after `$ `,
with the output below it, or an indented line without output. `…` stands for text that the page leaves out: on a line of
its own for lines, within a line for text. After a command with `# cut`, more lines can be between and around the lines
on the page.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_HEADING = re.compile(r"#+ (.*)")
_FENCE = re.compile(r"```(\w*)")
_FILE = re.compile(r"# ([\w.-]+\.(?:yaml|rego))")
_INDENTED = "    "
_TIMES = [(re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"), (re.compile(r"[ \t]+"), " ")]


@dataclass(frozen=True)
class File:
    """A file that a page shows."""

    section: str
    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command that a page shows, with its output there."""

    page: Path
    section: str
    line: str
    output: str

    @property
    def cut(self) -> bool:
        """Whether the page shows a part of the output."""
        return bool(re.search(r" # .*cut", self.line))


def steps(page: Path) -> Iterator[File | Command]:
    """Yield the files and commands of a page. Indented lines in lists are not commands."""
    section, before, lines = "", "", iter(page.read_text().splitlines())
    for line in lines:
        if heading := _HEADING.fullmatch(line):
            section = heading[1]
        elif fence := _FENCE.fullmatch(line):
            yield from _block(page, section, fence[1], _until_fence(lines))
        elif line.startswith(_INDENTED) and not before:
            block = [line[4:]]
            for line in lines:  # noqa: PLW2901 - the block's other lines
                if not line.startswith(_INDENTED):
                    break
                block.append(line[4:])
            yield from (Command(page, section, one, "") for one in _joined(block))
        before = line


def commands(page: Path) -> Iterator[Command]:
    """Yield the commands of a page."""
    return (step for step in steps(page) if isinstance(step, Command))


def files(page: Path) -> dict[str, str]:
    """Return the files of a page, by name."""
    return {step.name: step.text for step in steps(page) if isinstance(step, File)}


def plain(text: str) -> list[str]:
    """Return lines without what varies: times and numbers of spaces."""
    for varying, word in _TIMES:
        text = varying.sub(word, text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def fits(shown: Sequence[str], output: Sequence[str], *, cut: bool) -> bool:
    """Return whether the lines of `output` are those of `shown`, with others where these leave some out."""
    reached = set(range(len(output) + 1)) if cut else {0}  # numbers of lines of `output` that may be behind
    for line in shown:
        if line.strip() == "…":
            reached = set(range(min(reached, default=len(output) + 1), len(output) + 1))
            continue
        pattern = re.compile(re.escape(line).replace("…", ".*"))
        reached = {number + 1 for number in reached if number < len(output) and pattern.fullmatch(output[number])}
        if cut:
            reached = set(range(min(reached, default=len(output) + 1), len(output) + 1))
    return bool(reached) if cut else len(output) in reached


def _until_fence(lines: Iterator[str]) -> list[str]:
    block = []
    for line in lines:
        if line == "```":
            break
        block.append(line)
    return block


def _block(page: Path, section: str, language: str, block: list[str]) -> Iterator[File | Command]:
    if language == "console":
        yield from _console(page, section, block)
    elif language in {"yaml", "rego"} and block and (name := _FILE.fullmatch(block[0])):
        yield File(section, name[1], "".join(f"{line}\n" for line in block))


def _console(page: Path, section: str, block: list[str]) -> Iterator[Command]:
    line, output = "", ""
    for text in block:
        if line and not _is_closed(line):
            line += "\n" + text
        elif text.startswith("$ "):
            if line:
                yield Command(page, section, line, output)
            line, output = text[2:], ""
        else:
            output += text + "\n"
    if line:
        yield Command(page, section, line, output)


def _joined(block: list[str]) -> Iterator[str]:
    """Yield the commands of an indented block: a backslash at the end of a line continues it."""
    line = ""
    for text in block:
        line = f"{line}\n{text}" if line else text
        if _is_closed(line):
            yield line
            line = ""


def _is_closed(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return False
    return not line.endswith("\\")
