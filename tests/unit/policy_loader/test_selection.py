"""The submissions that are served together, and the number of checks that finding them takes."""

from collections.abc import Sequence

import pytest

from bridge.model.keys import Key
from bridge.policy_loader.compile_check import CheckError
from bridge.policy_loader.judgement import Chosen, Problems, select
from bridge.policy_loader.submissions import Fault, ModuleProblem, Submission


class Rules:
    """What compiles together: the text of a submission names what it `gives`, `needs`, or that it is `bad`.

    Two that give the same exclude each other; OPA names the first by name.
    """

    def __init__(self) -> None:
        self.checks = 0

    async def check(self, submissions: Sequence[Submission]) -> list[Fault]:
        """Faults of submissions that are bad, need something missing, or give what another gives."""
        self.checks += bool(submissions)  # an empty set needs none
        words = [(word, one) for one in submissions for word in one.modules["gives"].split()]
        given = {word for word, _ in words}
        faults = []
        for one in submissions:
            bad = one.modules["bad"]
            twins = [other for word, other in words if word in one.modules["gives"].split() and other is not one]
            if bad or set(one.modules["needs"].split()) - given or any(one.author < twin.author for twin in twins):
                problem = ModuleProblem("needs", 1, 1, bad or "missing", "")
                faults.append(Fault(one.author, problem, own=bad == "test_failed"))
        return faults

    async def select(self, active: Sequence[Submission], *joining: Submission) -> tuple[Chosen, Problems]:
        """Select, and count the checks of this selection alone."""
        self.checks = 0
        return await select(active, joining, self.check)


def version(name: str, number: str = "1", *, gives: str = "", needs: str = "", bad: str = "") -> Submission:
    key = Key("core", "ConfigMap", "policies", name)
    return Submission(key, number, {"gives": gives, "needs": needs, "bad": bad})


def named(chosen: Chosen) -> dict[str, str]:
    return {author.name: submission.version for author, submission in chosen.items()}


@pytest.fixture
def rules() -> Rules:
    return Rules()


async def test_older_of_two_that_exclude_each_other_is_chosen_whichever_is_named(rules: Rules) -> None:
    for old, young in (("a", "z"), ("z", "a")):
        chosen, _ = await rules.select((), version(old, gives="x"), version("other"), version(young, gives="x"))
        assert named(chosen) == {old: "1", "other": "1"}


async def test_active_one_excludes_an_older_one(rules: Rules) -> None:
    chosen, _ = await rules.select([version("z", gives="x")], version("a", gives="x"), version("b"))
    assert named(chosen) == {"z": "1", "b": "1"}


async def test_one_that_needs_a_younger_one_is_chosen_with_it(rules: Rules) -> None:
    bad = version("x", bad="rego_type_error")
    chosen, _ = await rules.select((), version("a", needs="x"), bad, version("b", gives="x"))
    assert named(chosen) == {"a": "1", "b": "1"}


async def test_chain_that_has_lost_its_end_is_rejected_without_others(rules: Rules) -> None:
    active = [version("a", needs="x"), version("b", gives="x", needs="y"), version("c")]
    chosen, problems = await rules.select(active, version("d"))
    assert named(chosen) == {"c": "1", "d": "1"}
    assert {*problems} == {id(active[0]), id(active[1])}


async def test_active_set_stays_if_its_check_proves_nothing(rules: Rules) -> None:
    with pytest.raises(CheckError):
        await rules.select([version("a"), version("b", bad="timeout")])


async def test_many_bad_ones_take_two_checks_each_at_most(rules: Rules) -> None:
    bad = {"n07", "n41", "n77"}
    every = [version(name, bad="rego_type_error" if name in bad else "") for name in (f"n{n:02}" for n in range(100))]
    chosen, _ = await rules.select((), *every)
    assert set(named(chosen)) == {one.author.name for one in every} - bad
    assert rules.checks <= 2 + 2 * len(bad)


async def test_submissions_with_faults_of_their_own_take_one_more_check(rules: Rules) -> None:
    chosen, problems = await rules.select((), *(version(f"n{n:02}", bad="test_failed" * (n % 2)) for n in range(100)))
    assert (len(chosen), len(problems)) == (50, 50)
    assert rules.checks <= 3
