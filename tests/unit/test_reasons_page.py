"""The page of reasons has every reason that the Rego returns, and `pbctl reasons` prints its rows."""

import contextlib
import io
import json
import re
from pathlib import Path

from bridge.cli.main import run_command
from bridge.queries.explained_reasons import explained_reasons

ROOT = Path(__file__).parents[2]
# Where a reason is given, or its message is a row of the table of rejected links.
_REASON = re.compile(r'(?:"reason": |_problem\(key, key, |^\t(?="\w+": "\{))"([A-Z][A-Za-z]+)"', re.MULTILINE)


def test_every_reason_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "reasons.md").read_text()
    explained = set(re.findall(r"`([A-Z][A-Za-z]+)`", page))
    rego = [path for path in (ROOT / "rego" / "bridge").rglob("*.rego") if not path.name.endswith("_test.rego")]
    returned = {name for path in rego for name in _REASON.findall(path.read_text())}
    assert len(returned) > 30
    assert returned - explained == set()


def test_every_row_of_the_page_is_read() -> None:
    page = (ROOT / "docs" / "reference" / "reasons.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(explained_reasons()) == len(rows)
    headings = {
        f"#{re.sub('[^a-z -]', '', line[3:].lower()).replace(' ', '-')}"
        for line in page.splitlines()
        if line[:3] == "## "
    }
    assert {f"#{reason.url.partition('#')[2]}" for reason in explained_reasons()} == headings


def test_reasons_prints_meaning_and_remedy() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        assert run_command(["reasons", "noscope", "-o", "json"]) == 0
    (reason,) = json.loads(output.getvalue())
    assert reason["name"] == "NoScope"
    assert reason["fix"] == "Attach a route, or target another object."


def test_unknown_reason_is_an_error_with_the_nearest_one() -> None:
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        assert run_command(["reasons", "NoScop"]) == 2
    assert errors.getvalue() == 'error: unknown reason "NoScop"; did you mean "NoScope"?\n'
