"""`--manifests` with several paths behind it."""

from pathlib import Path

import pytest

from bridge.cli.command import repeat_option, split_short_options


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


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["-n=shop", "-o=json"], ["-n", "shop", "-o", "json"]),
        (["-An=shop", "x"], ["-An", "shop", "x"]),
        (["-oname=x", "-ojsonpath={.a}"], ["-oname=x", "-ojsonpath={.a}"]),
        (["-o=jsonpath={.a=b}", "-n="], ["-o", "jsonpath={.a=b}", "-n", ""]),
        (["-x=1", "-A=1", "--n=1", "-=1", "a=b"], ["-x=1", "-A=1", "--n=1", "-=1", "a=b"]),
        (["-n=shop", "--", "-n=blog"], ["-n", "shop", "--", "-n=blog"]),
    ],
)
def test_the_value_of_a_short_option_may_follow_an_equals_sign(given: list[str], meant: list[str]) -> None:
    assert split_short_options(given, {"n": True, "o": True, "A": False}) == meant
