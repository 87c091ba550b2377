from pathlib import Path

import pytest

from bridge.opa.process import environment_of_opa, memory_limit


def _limits(folder: Path, *texts: str) -> tuple[Path, ...]:
    paths = tuple(folder / str(number) for number in range(len(texts)))
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def test_an_opa_in_a_container_collects_seldom_until_its_share_of_the_memory_is_used(tmp_path: Path) -> None:
    found = environment_of_opa({"PATH": "/bin"}, _limits(tmp_path, "1073741824\n"))
    assert found == {"PATH": "/bin", "GOGC": "400", "GOMEMLIMIT": "429496729"}


@pytest.mark.parametrize("name", ["GOGC", "GOMEMLIMIT"])
def test_the_given_settings_for_go_stay(name: str, tmp_path: Path) -> None:
    assert environment_of_opa({name: "90"}, _limits(tmp_path, "1073741824")) == {name: "90"}


@pytest.mark.parametrize("text", ["max", "", "9223372036854771712", "odd", "0"])
def test_without_a_limit_go_decides(text: str, tmp_path: Path) -> None:
    limits = _limits(tmp_path, text)
    assert environment_of_opa({}, limits) == {}
    assert memory_limit((*limits, tmp_path / "missing")) is None


def test_an_opa_of_one_command_may_use_memory_of_the_machine(tmp_path: Path) -> None:
    unlimited = _limits(tmp_path, "max")
    found = environment_of_opa({}, unlimited, machine=1 << 30)
    assert found == {"GOGC": "400", "GOMEMLIMIT": "429496729"}
    assert environment_of_opa({}, _limits(tmp_path, "1073741824"), machine=8 << 30) == found


def test_an_opa_for_few_objects_collects_nothing_until_a_small_heap_is_full(tmp_path: Path) -> None:
    found = environment_of_opa({}, _limits(tmp_path, "max"), machine=8 << 30, few=True)
    assert found == {"GOGC": "off", "GOMEMLIMIT": str(256 << 20)}
    assert environment_of_opa({}, _limits(tmp_path, "1000"), few=True) == {"GOGC": "off", "GOMEMLIMIT": "400"}


def test_the_first_limit_that_can_be_read_counts(tmp_path: Path) -> None:
    assert memory_limit((tmp_path / "missing", *_limits(tmp_path, "2048"))) == 2048
