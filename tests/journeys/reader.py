"""A user with a clone and a terminal, who types the commands of the documentation and compares their output."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.documented import Command, File, fits, plain, steps
from tests.e2e.terminal import at_a_terminal

PATIENCE = 300.0  # seconds in which a command that reads must show the documented output
_COLUMNS = 120
_SERVES = re.compile(r"(\w+=\S+ )*(make|pbctl) run\b")
_READS = re.compile(r"(sed [^|]*\| )?(kubectl (get|events|wait)|curl|pbctl) ")
_EXIT = re.compile(r"# .*\bexit code (\d)")
# Beside times of day: colors, ages, and digests of what a user wrote.
_VARYING = [
    (re.compile(r"\x1b\[[\d;]*m"), ""),
    (re.compile(r"\b\d+(ms|s|m\d*s?|h)\b"), "<age>"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "<digest>"),
]


class Reader:
    """Types commands in `folder`, one terminal for all of them: variables and the activated environment stay.

    `replaced` are texts of the pages that are others here: ports.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], scratch: Path) -> None:
        self.folder = folder
        self.replaced: dict[str, str] = {}
        self._environment = dict(environment)
        self._state = scratch / "state"
        self._log = scratch / "log"
        self._code = 0  # of the command before
        self._serving: list[subprocess.Popen[str]] = []

    def follow(self, page: str, section: str = "", *, without: str = "") -> list[str]:
        """Do what a section (or a whole page) asks: write its files, type its commands. Returns the output of each.

        A command that serves until Ctrl-C runs on; `without` is a pattern of commands that need more than this machine.
        Raises AssertionError where the output is another one than the page's, or a command fails.
        """
        reported = [step for step in steps(self.folder / page) if section in {"", step.section}]
        assert reported, f"{page} has no commands in a section {section!r}"
        outputs = []
        for step in reported:
            if isinstance(step, File):
                (self.folder / step.name).write_text(step.text)
            elif not without or not re.search(without, step.line):
                outputs.append(self._type(step))
        return outputs

    def edit(self, name: str, before: str, after: str) -> None:
        """Change a text of a file, as a page asks for in words."""
        file = self.folder / name
        text = file.read_text()
        assert text.count(before) == 1, f"{name} has {before!r} {text.count(before)} times"
        file.write_text(text.replace(before, after))

    def type(self, line: str) -> str:
        """Type a command of the user's own."""
        return self._type(Command(Path("the test"), "", line, ""))

    def stop(self) -> None:
        """Press Ctrl-C where a bridge runs."""
        for process in self._serving:
            os.killpg(process.pid, signal.SIGINT)
        for process in self._serving:
            assert process.wait(180) in {0, 130, -signal.SIGINT, 2}, self._log.read_text()
            assert process.stdout is not None
            process.stdout.close()
        self._serving.clear()

    def kill(self) -> None:
        """End what still runs."""
        for process in self._serving:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        self._serving.clear()

    def _type(self, command: Command) -> str:
        line = self._replace(command.line)
        if _SERVES.match(line):
            return self._serve(line)
        shown = _comparable(self._replace(command.output))
        deadline = time.monotonic() + PATIENCE
        while True:
            output, code = self._run(line)
            if fits(shown, _comparable(output), cut=command.cut) if shown else code == _exit_code(line):
                return output
            if not _READS.match(line) or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        place = f"{command.page.name}, {command.section}: $ {line}\n(exit code {code})\n{output}"
        if shown:
            assert _comparable(output) == shown, place
        raise AssertionError(place)

    def _run(self, line: str) -> tuple[str, int]:
        # `$?` is the exit code of the command before.
        script = f'(exit {self._code})\n{line}\nstatus=$?\n{{ echo $status; env -0; }} >"{self._state}"'
        output = at_a_terminal(["bash", "-c", script], self._environment, _COLUMNS, self.folder).replace("\r\n", "\n")
        code, _, variables = self._state.read_text().partition("\n")
        self._environment = dict(one.split("=", 1) for one in variables.split("\0") if "=" in one)
        self._code = int(code)
        return output, self._code

    def _serve(self, line: str) -> str:
        """Start a command that runs until Ctrl-C, and wait until it prints its addresses."""
        with self._log.open("a") as errors:
            process = subprocess.Popen(
                ["bash", "-c", line],
                cwd=self.folder,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._serving.append(process)
        output = "".join(_until(process, "Ctrl-C"))
        found = dict(re.findall(r"^(Web page|Queries): +(http://[^/\s]+)", output, re.MULTILINE))
        assert found.keys() == {"Web page", "Queries"}, f"$ {line}\n{output}\n{self._log.read_text()}"
        self.replaced |= {"http://127.0.0.1:8282": found["Web page"], "http://127.0.0.1:38109": found["Queries"]}
        return output

    def _replace(self, text: str) -> str:
        for before, after in self.replaced.items():
            text = text.replace(before, after)
        return text


def _exit_code(line: str) -> int:
    """Return the exit code that a comment announces."""
    found = _EXIT.search(line)
    return int(found[1]) if found else 0


def _until(process: subprocess.Popen[str], word: str) -> Iterator[str]:
    assert process.stdout is not None
    for line in process.stdout:
        yield line
        if line.startswith(word):
            return


def _comparable(text: str) -> list[str]:
    for varying, word in _VARYING:
        text = varying.sub(word, text)
    return plain(text)
