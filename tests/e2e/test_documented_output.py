"""The output of commands in README.md and docs/ is their real output.

The commands of each console block run at a terminal of 120 columns, in a folder with `examples`, `deploy`, `rego` and
the files on the page (`tests/documented.py`): `pbctl` alone within this process, a line of the shell in bash. The test
skips commands without output, and commands that need more than a folder: `tests/journeys` runs those.
"""

import re
import shlex
from pathlib import Path

import pytest

from tests.documented import PAGES, ROOT, Command, commands, files, fits, plain
from tests.e2e.terminal import at_a_terminal
from tests.in_process import run_warm_at_a_terminal

RUN = re.compile(
    r"(?:sed [^|]*\| )?"
    r"(pbctl (admin )?(analyze|compare|config|describe|effective|explain|get|init|opa-config|placement|problems|rbac"
    r"|request|status|test|tree|--help|\w[\w -]* --help)|curl -s \S+/v1/data|opa )\b"
)
NOT_RUN = re.compile(
    r"127\.0\.0\.1:8[0-9]{3}\b"  # a bridge or OPA of the reader's own
    r"|\bgrep '\"contrast\"'"  # after a change that the page asks for
    r"|deploy/ |--cluster|--check|<\("  # of a folder that the reader has
    r"|\bjq\b"
)
ADDRESS = re.compile(r"(http://127\.0\.0\.1:38109|\$BRIDGE_OPA_URL|\$OPA)\b")
# An OPA for each command takes seconds: on these pages, commands on `examples/shop` alone share one.
ON_THE_SHARED_OPA = {"cli.md", "commands.md", "keys.md", "index.md"}
OF_FILES = re.compile(r"pbctl (analyze|problems|admin rbac)\b")  # their output names files
FOLDER = re.compile(r" --manifests examples/shop(?=$| -| +#)")
COMMENT = re.compile(r" +# .*")
OF_A_SHELL = re.compile(r"[|<>&;$`]")


def _is_run(command: Command) -> bool:
    return bool(command.output and RUN.match(command.line) and not NOT_RUN.search(command.line))


COMMANDS = [command for page in PAGES for command in commands(page) if _is_run(command)]


@pytest.mark.parametrize(
    "command", COMMANDS, ids=[f"{command.page.relative_to(ROOT)}: {command.line[:60]}" for command in COMMANDS]
)
def test_a_command_prints_the_output_on_the_page(
    command: Command, shop_opa: str, bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    for name in ("examples", "deploy", "rego", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name, text in files(command.page).items():
        (tmp_path / name).write_text(text)
    text = ADDRESS.sub(shop_opa, command.line)
    if command.page.name in ON_THE_SHARED_OPA and not OF_FILES.search(command.line):
        text = FOLDER.sub("", text)
    more = {"BRIDGE_OPA_URL": "" if "--manifests" in text else shop_opa}
    words = shlex.split(COMMENT.sub("", text))
    if words[0] == "pbctl" and not OF_A_SHELL.search("".join(words)):
        said = run_warm_at_a_terminal(words[1:], {**environment, **more}, 120, tmp_path)
    else:
        more["PATH"] = f"{bridge_path.parent}:{opa_path.parent}:{environment['PATH']}"
        said = at_a_terminal(["bash", "-c", text], {**environment, **more}, 120, tmp_path).replace("\r\n", "\n")
    output = plain(said)
    if not fits(plain(command.output), output, cut=command.cut):
        assert output == plain(command.output)
