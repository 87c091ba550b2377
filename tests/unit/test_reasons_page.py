"""The page of reasons has every reason that the Rego returns."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_REASON = re.compile(r'(?:"reason": |_problem\(key, key, |_message\()"([A-Z][A-Za-z]+)"')


def test_every_reason_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "reasons.md").read_text()
    explained = set(re.findall(r"`([A-Z][A-Za-z]+)`", page))
    rego = [path for path in (ROOT / "rego" / "bridge").rglob("*.rego") if not path.name.endswith("_test.rego")]
    returned = {name for path in rego for name in _REASON.findall(path.read_text())}
    assert len(returned) > 30
    assert returned - explained == set()
