"""Work for the content of one author grows with it, not with its square: others wait for the same event loop."""

from __future__ import annotations

import asyncio
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from bridge.model.keys import Key
from bridge.opa.errors import OpaRejected
from bridge.policy_loader.assembly import digest, generated, lines_that_read_view, mentions, reads_objects
from bridge.policy_loader.authors import Authors
from bridge.policy_loader.compile_check import Checker, RuleHead, may_use_schemas
from bridge.policy_loader.judgement import EVALUATION_CONFLICT, Judge, _Claim, _find_shared, failures_by_author
from bridge.policy_loader.loader import Activation
from bridge.policy_loader.read_parameters import read_parameters
from bridge.policy_loader.submissions import (
    Places,
    Submission,
    find_disputes,
    find_flaws,
    line_of_package,
    line_of_rule,
    package_of,
)
from tests.integration.loading import FEW
from tests.unit.policy_loader.hand import HandJudge
from tests.unit.policy_loader.test_authors import ONE, config_map

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from bridge.opa.client import Opa

SIZE, TIMES = 60, 4
GROWTH = 1.6 * TIMES  # sorting, and dictionaries that grow


def steps(work: Callable[[], object]) -> int:
    """The instructions of Python that it takes."""
    counted = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal counted
        frame.f_trace_opcodes = True
        counted += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted


def author(name: str) -> Key:
    return Key("core", "ConfigMap", "policies", name)


def submission(name: str, size: int, package: str = "team.p{}", rule: str = "") -> Submission:
    return Submission(author(name), "1", {f"m{n}": f"package {package.format(n)}\n\n{rule}\n" for n in range(size)})


def disputes(size: int) -> Callable[[], object]:
    many = [Submission(author(f"data{n}"), "1", data={("team", f"d{n}"): n}) for n in range(size)]
    return lambda: list(find_disputes([submission("one", size), *many]))


def shared(size: int) -> Callable[[], object]:
    many = [submission("one", size), submission("two", size, "team.p{}.below")]
    return lambda: _find_shared(many)


def obstacles(size: int) -> Callable[[], object]:
    activation = Activation(cast("Opa", None), cast("Any", None))
    owned = [*submission("one", size).packages.values()]
    return lambda: asyncio.run(activation._find_taken({*owned}, owned, {"other": [("elsewhere",)]}))


def long_message(size: int) -> Callable[[], object]:
    places = Places([submission("one", size, "team"), submission("two", size, "team")])
    text = f"multiple default rules data.team.x found at {', '.join(f'{path}:3' for path in places.modules)}"
    return lambda: places.fault(next(iter(places.modules)), 1, 1, "rego_type_error", text)


def many_messages(size: int) -> Callable[[], object]:
    places = Places([submission("one", size)])
    return lambda: [places.fault(path, 1, 1, "rego_parse_error", f"{path}:1: error") for path in places.modules]


def claims(name: str, heads: list[RuleHead]) -> list[_Claim]:
    one = submission(name, 1, "team")
    [path] = Places([one]).modules
    heads = [head._replace(path=path) for head in heads]
    return [_Claim(one, head, ("team",), head.within(("team",))) for head in heads]


def rules(size: int) -> Callable[[], object]:
    def head(*terms: tuple[str, str]) -> RuleHead:
        return RuleHead("", (("var", "p"), *terms), "value", 0, True, "")

    one = claims("one", [head(("string", f"k{n}"), ("string", "d")) for n in range(size)])
    two = claims("two", [head(("var", "x"), ("string", f"c{n}")) for n in range(size)])
    return lambda: asyncio.run(Judge(Checker(Path("opa"), {}), FEW)._name_contradictions([one, two]))


def broken(size: int) -> Callable[[], object]:
    judge, one, two = Judge(Checker(Path("opa"), {}), FEW), submission("one", size), submission("two", size)
    judge.note_served([one, two], 1)
    return lambda: judge.may_break(one, [two])


def lost(size: int) -> Callable[[], object]:
    judge, one, two = (
        Judge(Checker(Path("opa"), {}), FEW),
        submission("one", size),
        submission("two", size, "group.p{}"),
    )
    for each in (one, two):
        heads = [RuleHead(path, (("var", "x"),), "value", 0, True, "") for path in Places([each]).modules]
        judge._heads[id(each)] = (each, heads)
    return lambda: asyncio.run(judge.make_failing(one, [two]))


def failing(size: int) -> Callable[[], object]:
    one = submission("one", size)
    errors = {
        ("links", path): OpaRejected(500, "", "", [{"code": EVALUATION_CONFLICT, "location": {"file": path, "row": 1}}])
        for path in Places([one]).modules
    }
    return lambda: failures_by_author(errors, [one])


def guardrails(size: int) -> Callable[[], object]:
    package = "bridge.guardrails.p{}"
    many = [submission("one", size, package), submission("two", size, package, "parameters_schema := {}\n" * 2)]
    return lambda: generated(many)


def declarations(size: int) -> Callable[[], object]:
    rules = "parameters_schema := { )\n\nviolations_at(t, {}, ts) := input.parameters\n"
    text = "".join(rules.replace("{}", f"p{n}") for n in range(size))
    return lambda: read_parameters(("bridge", "guardrails", "mine"), [(("bridge", "guardrails", "mine"), text)])


WORK = (
    *(disputes, shared, obstacles, long_message, many_messages, rules, broken, lost, failing),
    *(guardrails, declarations),
)


@pytest.mark.parametrize("of_size", WORK, ids=lambda one: one.__name__)
def test_work_grows_with_the_content(of_size: Callable[[int], Callable[[], object]]) -> None:
    taken = [steps(of_size(size)) for size in (SIZE, SIZE * TIMES, SIZE * TIMES * TIMES)]
    assert all(after < GROWTH * before for before, after in pairwise(taken)), taken


class Text(str):
    """A text that counts how often its lines are counted."""

    __slots__ = ()
    counted = 0

    def count(self, *arguments: Any) -> int:
        """Count the calls."""
        Text.counted += 1
        return super().count(*arguments)


def test_lines_are_counted_up_to_the_first_one_that_reads_the_view() -> None:
    text = Text("package team\n\n" + "x := data.kubernetes.pods\n" * SIZE)
    one = Submission(author("one"), "1", {"a": text})
    assert lines_that_read_view(one, "package kubernetes\n\npods := 1\n") == {"a": 3}
    assert Text.counted == 1


def test_parts_of_data_that_modules_name() -> None:
    one = Submission(
        author("one"), "1", {"a": 'package a\n\nimport data.lib.x\n\ny := data.team["z-1"].rule[input.x]\n'}
    )
    assert mentions(one) == {("lib", "x"), ("team", "z-1", "rule")}


@pytest.mark.parametrize("named", ['data["te\\u0061m"].x', "data[`team`].x", "data[name].x"])
def test_name_that_is_not_written_out_may_be_any_part_of_data(named: str) -> None:
    assert mentions(Submission(author("one"), "1", {"a": f"package a\n\ny := {named}\n"})) == {()}


@pytest.mark.parametrize("filling", [" ", "\n", "#\n", "# package x\n \t"])
def test_package_is_found_after_a_long_beginning(filling: str) -> None:
    beginning = filling * 100_000
    assert package_of(f"{beginning}\npackage team.x\n") == ("team", "x")
    assert package_of(f"{beginning}\npackage 1\n") is None


@pytest.mark.parametrize(
    "filling", ["\n", " ", "\t\n", "#\n", '"', "`", "(", "data.", "parameters_schema := {", "violations "]
)
def test_megabyte_of_a_module_is_read_in_one_pass(filling: str) -> None:
    """Regular expressions have no steps to count: work that grows with the square would take hours."""
    package = ("bridge", "guardrails", "mine")
    text = f"package bridge.guardrails.mine\n{filling * (1_000_000 // len(filling))}\nx := 1\n"
    one = Submission(author("one"), "1", {"a": text})
    assert (line_of_package(text), package_of(text)) == (1, package)
    assert line_of_rule(text, "x") == text.count("\n")
    assert generated([one], "package kubernetes\n\npods := 1\n")
    assert not find_flaws(one)
    assert not may_use_schemas(text)
    assert not lines_that_read_view(one, "package kubernetes\n\npods := 1\n")
    assert reads_objects([one]) == (filling == "data.")
    assert digest([one], package)
    assert {path[0] for path in mentions(one) if path} <= {"data"}


def test_request_to_the_webhook_reads_no_module() -> None:
    authors = Authors(HandJudge(), ["*"])
    authors.take_in(config_map(ONE, "package team\n"))
    documents = [("io", "k8s")]
    assert authors.deciding(documents) == []
    few = steps(lambda: authors.deciding(documents))
    for number in range(SIZE):
        authors.take_in(config_map(ONE._replace(name=f"n{number}"), "package team\n"))
    authors.deciding(documents)
    assert steps(lambda: authors.deciding(documents)) == few
