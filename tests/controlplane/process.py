"""A server process that ends with the tests, even if these are killed."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

# The shell holds the read end of a pipe whose other end only the tests have: when they close it, or die, the server
# is killed. Everything of a test's server may be lost, so it gets no time to say goodbye.
_WRAPPER = """
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
(while read -r _; do :; done <&3; kill -KILL "$child" 2>/dev/null) &
watcher=$!
wait "$child"
status=$?
kill "$watcher" 2>/dev/null
exit "$status"
"""


class ServerProcess:
    """An executable with its output in a log file; `environment` None means the environment of the tests."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _WRAPPER, "sh", *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment,
            )

    @property
    def pid(self) -> int:
        """The id of the shell, whose child is the executable."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def last_lines(self, count: int = 20) -> str:
        """Return the end of its output."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-count:])

    def kill(self) -> None:
        """Kill it and wait until it has ended."""
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait(timeout=180)
