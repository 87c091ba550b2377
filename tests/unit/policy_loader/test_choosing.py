"""The newest set in which nothing is wrong, and the number of looks that finding it takes."""

from __future__ import annotations

from collections.abc import Sequence

from bridge.model.keys import Key
from bridge.policy_loader.selection import Choice, SelectedSet, choose
from bridge.policy_loader.submissions import Fault, ModuleProblem, Submission


class Rules:
    """What compiles together: the text of a submission names what it `gives`, `needs`, or that it is `bad`."""

    def __init__(self) -> None:
        self.looks = 0

    async def check(self, submissions: Sequence[Submission]) -> list[Fault]:
        """Faults of submissions that need something missing, and of bad ones."""
        self.looks += 1
        given = {word for one in submissions for word in one.modules["gives"].split()}
        found = [one for one in submissions if not set(one.modules["needs"].split()) <= given or one.modules["bad"]]
        return [Fault(one.author, ModuleProblem("needs", 1, 1, one.modules["bad"] or "missing", "")) for one in found]


def version(name: str, number: str = "1", *, gives: str = "", needs: str = "", bad: str = "") -> Submission:
    key = Key("core", "ConfigMap", "policies", name)
    return Submission(key, number, {"gives": gives, "needs": needs, "bad": bad})


def fresh(*submissions: Submission) -> list[Choice]:
    return [Choice(one.author, (one,)) for one in submissions]


def changed(*versions: Submission) -> Choice:
    """The newest first; the last is active."""
    return Choice(versions[0].author, versions, versions[-1])


def chosen(outcome: SelectedSet) -> dict[str, str]:
    return {author.name: submission.version for author, submission in outcome.chosen.items()}


async def test_what_goes_together_takes_one_look() -> None:
    rules = Rules()
    outcome = await choose(fresh(*(version(f"n{number:03}") for number in range(100))), rules.check)
    assert (len(outcome.chosen), outcome.problems, rules.looks) == (100, {}, 1)


async def test_a_bad_one_stays_behind_alone() -> None:
    rules = Rules()
    outcome = await choose(fresh(version("a"), version("b", bad="rego_type_error"), version("c")), rules.check)
    assert chosen(outcome) == {"a": "1", "c": "1"}
    assert [(author.name, problems[0].code) for author, problems in outcome.problems.items()] == [
        ("b", "rego_type_error")
    ]
    assert rules.looks <= 3


async def test_a_bad_version_falls_back() -> None:
    outcome = await choose([changed(version("a", "2", bad="x"), version("a")), *fresh(version("b"))], Rules().check)
    assert chosen(outcome) == {"a": "1", "b": "1"}
    assert [author.name for author in outcome.problems] == ["a"]


async def test_who_takes_away_what_others_need_is_the_culprit() -> None:
    rules = Rules()
    choices = [
        changed(version("a", needs="x")),
        changed(version("b", "2"), version("b", gives="x")),
        changed(version("c", "2"), version("c")),
    ]
    outcome = await choose(choices, rules.check)
    assert chosen(outcome) == {"a": "1", "b": "1", "c": "2"}
    (problem,) = outcome.problems[choices[1].author]
    assert problem.message.startswith("breaks core/ConfigMap/policies/a needs:1")


async def test_of_two_that_need_each_other_none_stays_behind() -> None:
    outcome = await choose(fresh(version("a", needs="y", gives="x"), version("b", needs="x", gives="y")), Rules().check)
    assert chosen(outcome) == {"a": "1", "b": "1"}


async def test_what_needs_a_bad_one_is_out_too() -> None:
    outcome = await choose(fresh(version("a", needs="x"), version("b", gives="x", bad="type")), Rules().check)
    assert (chosen(outcome), {author.name for author in outcome.problems}) == ({}, {"a", "b"})


async def test_many_bad_ones_take_few_looks_each() -> None:
    rules = Rules()
    bad = {"n07", "n41", "n77"}
    all_of_them = [version(name, bad="type" if name in bad else "") for name in (f"n{n:02}" for n in range(100))]
    outcome = await choose(fresh(*all_of_them), rules.check)
    assert set(chosen(outcome)) == {one.author.name for one in all_of_them} - bad
    assert rules.looks <= 2 + 2 * len(bad)
