"""What packages and data may be claimed."""

import pytest

from bridge.model.keys import Key
from bridge.policy_loader.submissions import Submission, find_disputes, find_flaws, package_of, roots


def submission(name: str, *packages: str, data: tuple[tuple[str, ...], ...] = ()) -> Submission:
    modules = {f"{number}.rego": f"# mine\npackage {package}\n" for number, package in enumerate(packages)}
    return Submission(Key("core", "ConfigMap", "policies", name), "1", modules, {}, dict.fromkeys(data, 1))


@pytest.mark.parametrize(
    ("text", "package"),
    [
        ("package a", ("a",)),
        ("# package x\n\n  package\ta.b_c  # mine\r\n\nx := 1", ("a", "b_c")),
        ('package a["b-c"].d\n', ("a", "b-c", "d")),
        ("package\na.b\n", ("a", "b")),
        ("\ufeffpackage a\n", ("a",)),
        ("package a x := 1", None),
        ("package a[`b`]\n", None),
        ('package a["\\u0062"]\n', None),
        ("packagea\n", None),
        ("import data.x\npackage a\n", None),
        ("", None),
    ],
)
def test_a_package_is_read_where_it_is_plain(text: str, package: tuple[str, ...] | None) -> None:
    assert package_of(text) == package


@pytest.mark.parametrize(
    "package",
    [
        "team",
        "a.b",
        "a" + 63 * ".a",
        "kubernetes.admission",
        "bridge.strategies.x",
        "bridge.extensions.hierarchy.x.more",
        "bridges",
    ],
)
def test_paths_that_every_author_may_claim(package: str) -> None:
    assert find_flaws(submission("a", package)) == []


@pytest.mark.parametrize(
    "package",
    [
        *("bridge", "bridge.v1", "bridge.strategies", "bridge.extensions.x", "bridge.extensions.hierarchy"),
        *("bridge_state", "bridge_modules", "bridge_settings", "kinds", "objects", "objects.core", "index.a"),
        *("bridge_view", "clusters.east", "system", "system.authz", 'a["b/c"]', 'a[""]', "a" + 64 * ".a"),
    ],
)
def test_names_that_no_client_may_claim(package: str) -> None:
    [problem] = find_flaws(submission("a", package))
    assert (problem.file, problem.line, problem.code) == ("0.rego", 2, "claim_refused")


@pytest.mark.parametrize("path", [("bridge", "strategies", "x"), ("index",), (), ("a", "b/c")])
def test_data_stays_out_of_the_documents_of_the_bridge(path: tuple[str, ...]) -> None:
    assert [problem.code for problem in find_flaws(submission("a", data=(path,)))] == ["claim_refused"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (submission("a", "bridge.strategies.x"), submission("b", "bridge.strategies.x.more")),
        (submission("a", data=(("team", "a"),)), submission("b", "team.a.rules")),
        (submission("a", "team.a.rules"), submission("b", data=(("team",),))),
        (submission("a", data=(("team",),)), submission("b", data=(("team", "a"),))),
    ],
)
def test_the_later_author_has_the_dispute(first: Submission, second: Submission) -> None:
    for one, other in ((first, second), (second, first)):
        assert {fault.author for fault in find_disputes([one, other])} == {other.author}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (submission("a", "team.a"), submission("b", "team.a", "team")),
        (submission("a", "bridge.strategies.x"), submission("b", "bridge.strategies.y")),
        (submission("a", data=(("team", "a"),)), submission("b", "team.b", data=(("team", "c"),))),
        (submission("a", "team", data=(("team", "a"),)), submission("b", "other")),
    ],
)
def test_ordinary_packages_are_shared(first: Submission, second: Submission) -> None:
    assert [*find_disputes([first, second])] == []


def test_roots_do_not_lie_in_one_another() -> None:
    assert roots([("a", "b"), ("a",), ("c", "d"), ("c", "d", "e"), ("ab",)]) == {("a",), ("c", "d"), ("ab",)}
