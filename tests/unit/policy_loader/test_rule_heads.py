"""Rules that may contradict each other are found among many, with few comparisons."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.model.keys import Key
from bridge.policy_loader.compile_check import Checker, RuleHead, RuleHeads
from bridge.policy_loader.judgement import Judge, _Claim
from bridge.policy_loader.submissions import Places, Submission
from tests.integration.loading import FEW

MANY = 400
TERMS = st.sampled_from([("string", "a"), ("string", "b"), ("number", 1), ("var", "x")])


def head(*names: str, exclusive: bool = True, constant: str = "") -> RuleHead:
    """A rule; a name with a question mark is a variable."""
    ref = tuple(("var" if "?" in name else "string", name) for name in names)
    return RuleHead("a.rego", ref, "value", 0, exclusive, constant)


@st.composite
def heads(draw: st.DrawFn) -> RuleHead:
    """Any rule of a few short names."""
    ref = (("string", draw(st.sampled_from("pq"))), *draw(st.lists(TERMS, max_size=3)))
    return RuleHead("a.rego", ref, "value", 0, draw(st.booleans()), draw(st.sampled_from(["", "1", "2", "3", "4"])))


def _is_only_true(rule: RuleHead) -> RuleHead:
    """Rego's rules without a value of their own have no other constant."""
    return rule if rule.exclusive else rule._replace(constant="")


@given(st.lists(heads()), heads())
def test_rule_contradicts_one_of_many_exactly_if_comparing_all_says_so(known: list[RuleHead], asked: RuleHead) -> None:
    known, asked = [*map(_is_only_true, known)], _is_only_true(asked)
    found: RuleHeads[int] = RuleHeads()
    for number, one in enumerate(known):
        found.add(number, one)
    contradicted = {number for number, one in enumerate(known) if asked.contradicts(one)}
    owner = found.find_contradicted(asked)
    assert owner in contradicted if contradicted else owner is None


def claims(name: str, rules: Sequence[RuleHead]) -> list[_Claim]:
    """The rules of an author in a package that others share."""
    one = Submission(Key("core", "ConfigMap", "policies", name), "1", {"a.rego": "package team\n"})
    [path] = Places([one]).modules
    rules = [rule._replace(path=path) for rule in rules]
    return [_Claim(one, rule, ("team",), rule.within(("team",))) for rule in rules]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([head(f"a{number}") for number in range(MANY)], [head(f"b{number}") for number in range(MANY)]),
        (
            [head("p", f"a{number}", exclusive=False) for number in range(MANY)],
            [head("p", "x?", exclusive=False) for _ in range(MANY)],
        ),
        (
            [head("p", "x?", f"a{number}", exclusive=False) for number in range(MANY)],
            [head("p", "x?", f"b{number}", exclusive=False) for number in range(MANY)],
        ),
        ([head("p", exclusive=False)] * MANY, [head("p", exclusive=False)] * MANY),
    ],
    ids=["names", "variables", "names below variables", "one name"],
)
async def test_rules_of_two_authors_are_compared_with_few_others(
    first: list[RuleHead], second: list[RuleHead], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: Counter[str] = Counter()
    contradicts = RuleHead.contradicts

    def count(one: RuleHead, other: RuleHead) -> bool:
        counted["comparisons"] += 1
        return contradicts(one, other)

    monkeypatch.setattr(RuleHead, "contradicts", count)
    judge = Judge(Checker(Path("opa"), {}), FEW)
    one, two = claims("one", first), claims("two", second)
    assert await judge._name_contradictions([one, two]) == []
    assert counted["comparisons"] <= 3 * MANY
    for claim in (one, two):
        judge._heads[id(claim[0].submission)] = (claim[0].submission, [rule.head for rule in claim])
    counted.clear()
    assert await judge.make_failing(one[0].submission, [two[0].submission])
    assert counted["comparisons"] <= 3 * MANY
