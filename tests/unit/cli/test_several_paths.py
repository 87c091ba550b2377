"""`--manifests` with several paths behind it."""

from pathlib import Path

import pytest

from bridge.cli.command import repeat_option


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.yaml", "b.yaml", "c.yaml"):
        Path(name).touch()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["--manifests", "a.yaml", "b.yaml"], ["--manifests", "a.yaml", "--manifests", "b.yaml"]),
        (["--manifests", "missing.yaml", "b.yaml"], ["--manifests", "missing.yaml", "--manifests", "b.yaml"]),
        (["--manifests", "a.yaml", "HTTPRoute/cart", "b.yaml"], ["--manifests", "a.yaml", "HTTPRoute/cart", "b.yaml"]),
        (["--manifests", "a.yaml", "-o", "json"], ["--manifests", "a.yaml", "-o", "json"]),
        (["--manifests", "a.yaml", "-"], ["--manifests", "a.yaml", "--manifests", "-"]),
        (["a.yaml", "--manifests", "-"], ["a.yaml", "--manifests", "-"]),
    ],
)
def test_existing_paths_behind_the_option_belong_to_it(given: list[str], meant: list[str]) -> None:
    assert repeat_option("--manifests", given) == meant
