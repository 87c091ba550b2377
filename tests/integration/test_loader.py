"""Submitted modules in a real OPA become active together or not at all; one that breaks others is rejected."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from bridge.http.bundles import BundleEndpoint
from bridge.opa.bundle import Bundle, archive_of
from bridge.opa.errors import OpaRejected
from bridge.opa.process import ManagedOpa
from bridge.policy_loader import loader as loader_module
from bridge.policy_loader.compile_check import Checker, CheckError
from bridge.policy_loader.judgement import Judge
from bridge.policy_loader.submissions import LOST_RULES, ModuleProblem, Submission
from tests.integration.loading import DEADLINE, FEW, Bench, author, loading, until


@pytest.fixture
async def bench(opa_path: Path) -> AsyncIterator[Bench]:
    async with loading(opa_path) as found:
        yield found


async def test_a_submission_becomes_active_and_goes(bench: Bench) -> None:
    bench.put("a", "package team.a\n\nx := data.team.b.y\n", "package team.b\n\ny := 7\n")
    await bench.until_active("a")
    assert await bench.opa.get("team/a/x") == 7
    assert bench.verdicts["a"].revision == await bench.opa.bundle_revision() == bench.loader.revision
    bench.loader.remove(author("a"))
    await asyncio.wait_for(bench.loader.wait_until_settled(), DEADLINE)
    assert await bench.opa.get("team") is None
    assert await bench.opa.query("links", {"objects": []}) == {}


async def test_author_that_changes_without_a_pause_delays_no_links_and_no_views(bench: Bench) -> None:
    bench.put("quiet", "package team.quiet\n\nx := 1\n")
    bench.put("hierarchy", "package bridge.extensions.hierarchy.pets\n\nx := 1\n")
    await bench.until_active("quiet", "hierarchy")

    async def change() -> None:
        number = 0
        while True:
            number += 1
            bench.put("busy", f"package team.busy\n\nx := {number}\n", version=str(number))
            await asyncio.sleep(0.02)

    changing = asyncio.create_task(change())
    try:
        await until(lambda: bool(bench.loader.modules > 2))
        for _ in range(5):
            links = set()
            revision = bench.loader.revision
            while bench.loader.revision == revision:
                links.add(bench.loader.links())
                await asyncio.sleep(0.001)
            assert None not in links
            assert await asyncio.wait_for(bench.loader.wait_until_active(), DEADLINE)
        await bench.until(lambda verdicts: "busy" in verdicts and verdicts["busy"].programmed)
    finally:
        changing.cancel()


async def test_links_are_unknown_until_opa_has_the_modules_that_declare_them(bench: Bench) -> None:
    bench.put("hierarchy", "package bridge.extensions.hierarchy.pets\n\nx := 1\n")
    await bench.until_active("hierarchy")
    before, seen = bench.loader.links(), []
    bench.put("hierarchy", "package bridge.extensions.hierarchy.pets\n\nx := 2\n", version="2")
    while bench.verdicts["hierarchy"].active != "2":
        seen.append(bench.loader.links())
        await asyncio.sleep(0.001)
    assert {*seen} <= {before, None, bench.loader.links()}
    assert None in seen
    assert bench.loader.links() not in {before, None}


async def test_rego_for_opa_before_1_0_gets_the_command_that_rewrites_it(bench: Bench) -> None:
    bench.put("rule", "package team.a\n\nallow {\n\tinput.x\n}\n")
    bench.put("set", 'package team.b\n\ndeny["no"] {\n\tinput.x\n}\n')
    for name in ("rule", "set"):
        _, line, _, message = await bench.refused(name)
        assert line == 3
        assert "convert it with `opa fmt --write --v0-v1 FILE`, or set the label" in message


async def test_message_repeats_file_names_in_an_authors_text_as_the_author_wrote_them(bench: Bench) -> None:
    bench.put("other", "package team.other\n\nx := 1\n")
    await bench.until_active("other")
    numbers = [f"{number:05}.rego" for number in range(200)]  # more than files of one check
    bench.put("curious", "package team.curious\n\n" + "".join(f'x := data.missing["{one}"](1)\n' for one in numbers))
    await bench.refused("curious")
    problems = bench.verdicts["curious"].problems
    assert {problem.file for problem in problems} == {"m0.rego"}
    assert {problem.message for problem in problems} == {f'undefined function data.missing["{one}"]' for one in numbers}


async def test_function_that_rego_v1_removed_gets_its_replacement(bench: Bench) -> None:
    bench.put("a", 'package team.a\n\nx := cast_array({1})\n\ny if re_match("a", input.x)\n')
    file, line, _, message = await bench.refused("a")
    assert (file, line) == ("m0.rego", 3)
    assert "cast_array: write `[x | some x in xs]`; or set the label policybridge.io/rego-version: v0" in message
    assert "re_match: write regex.match" in bench.verdicts["a"].problems[1].message


OLD = """package team.old

deny[msg] {
\tre_match(`^nginx`, input.image)
\tnot any([input.exempt])
\tmsg := data.team.b.text
}

helper(x) = y { y := cast_array(x) }
"""


async def test_rego_v0_is_loaded_beside_rego_v1(bench: Bench) -> None:
    bench.put("b", 'package team.b\n\ntext := "no nginx"\n\nfrom_old := data.team.old.helper({7})\n')
    bench.put("old", OLD, old=True)
    await bench.until_active("b", "old")
    assert await bench.opa.ask("team/old/deny", {"image": "nginx:1", "exempt": False}) == ["no nginx"]
    assert await bench.opa.get("team/b/from_old") == [7]
    bench.put("b", 'package team.b\n\ndeny[msg] { msg := "x" }\n', version="2")
    assert (await bench.refused("b", "2"))[2] == "rego_parse_error"
    bench.put("old", OLD.replace("x); }", "").replace("cast_array(x)", "nowhere(x)"), version="2", old=True)
    assert (await bench.refused("old", "2"))[:3] == ("m0.rego", 9, "rego_type_error")


async def test_rego_v0_may_not_reach_out_either(bench: Bench) -> None:
    schema = 'package team.a\n\nx { json.match_schema(input, {"$ref": "http://127.0.0.1:1/s"}) }\n'
    bench.put("a", schema, old=True)
    assert (await bench.refused("a"))[2] == "schema_reference"
    bench.put("b", 'package team.b\n\nx { http.send({"method": "get", "url": "http://127.0.0.1:1"}) }\n', old=True)
    assert "allowed_builtins" in (await bench.refused("b"))[3]


async def test_all_modules_of_one_become_active_or_none(bench: Bench) -> None:
    bench.put("a", "package team.a\n\nx := 1\n", "package team.b\n\ny := \n")
    file, line, code, _ = await bench.refused("a")
    assert (file, line, code) == ("m1.rego", 4, "rego_parse_error")
    assert bench.verdicts["a"].active == ""
    assert await bench.opa.get("team") is None


async def test_the_last_good_version_stays_active(bench: Bench) -> None:
    bench.put("a", "package team.a\n\nx := 1\n")
    bench.put("b", "package team.b\n\nx := 1\n")
    await bench.until_active("a", "b")
    with capture_logs() as logs:
        bench.put("a", "package team.a\n\nx := nowhere\n", version="2")
        bench.put("b", "package team.b\n\nx := 2\n", version="2")
        file, line, code, message = await bench.refused("a", "2")
    (log,) = [entry for entry in logs if entry["event"] == "submission rejected"]
    assert log["submission"] == str(author("a"))
    assert "nowhere" in log["why"]
    assert (file, line, code) == ("m0.rego", 3, "rego_unsafe_var_error")
    assert "nowhere" in message
    assert bench.verdicts["a"].active == "1"
    await bench.until_active("b", version="2")
    assert [await bench.opa.get("team/a/x"), await bench.opa.get("team/b/x")] == [1, 2]


async def test_a_version_with_other_tests_alone_is_active_although_the_bundle_stays(bench: Bench) -> None:
    module = "package team.a\n\nx := 1\n"
    bench.put("a", module, tests="package team.a_test\n\ntest_x if data.team.a.x == 1\n")
    await bench.until_active("a")
    revision = bench.loader.revision
    bench.put("a", module, version="2", tests="package team.a_test\n\ntest_x if data.team.a.x > 0\n")
    await bench.until_active("a", version="2")
    assert bench.loader.revision == revision


async def test_a_rejected_module_is_loaded_when_its_dependency_arrives(bench: Bench) -> None:
    bench.put("a", "package team.a\n\nx := data.team.b.twice(4)\n")
    assert (await bench.refused("a"))[2] == "rego_type_error"
    bench.put("b", "package team.b\n\ntwice(n) := 2 * n\n")
    await bench.until_active("a", "b")
    assert await bench.opa.get("team/a/x") == 8


async def test_an_author_that_breaks_others_stays_behind_alone(bench: Bench) -> None:
    bench.put("a", "package team.a\n\nx := data.team.b.twice(4)\n")
    bench.put("b", "package team.b\n\ntwice(n) := 2 * n\n")
    bench.put("c", "package team.c\n\nx := 1\n")
    await bench.until_active("a", "b", "c")
    bench.put("b", "package team.b\n\ntwice(n, m) := m * n\n", version="2")
    bench.put("c", "package team.c\n\nx := 2\n", version="2")
    _, _, code, message = await bench.refused("b", "2")
    assert code == "rego_type_error"
    assert message.startswith("breaks core/ConfigMap/policies/a m0.rego:3: ")
    await bench.until_active("c", version="2")
    await bench.until_active("a")
    assert await bench.opa.get("team/a/x") == 8


async def test_conflict_of_two_modules_is_reported_at_the_line_of_the_younger_one(bench: Bench) -> None:
    bench.put("a", "package shop.access\n\nallow if input.a\n\ndefault allow := false\n", created="2026-01-01")
    await bench.until_active("a")
    bench.put("b", "package shop.access\n\ndefault allow := false\n\nallow if input.b\n", created="2026-02-01")
    file, line, code, message = await bench.refused("b")
    assert (file, line, code) == ("m0.rego", 3, "rego_type_error")
    assert "core/ConfigMap/policies/a m0.rego:5" in message
    assert "core/ConfigMap/policies/b" not in message


async def test_modules_that_lose_a_dependency_are_out_and_come_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader_module, "_RETRY", 1e6)  # the library's new version, and no timer, brings them back
    bench.put("a", "package team.a\n\nx := data.team.b.twice(4)\n")
    bench.put("b", "package team.b\n\ntwice(n) := 2 * n\n")
    await bench.until_active("a", "b")
    bench.loader.remove(author("b"))
    await bench.refused("a")
    await bench.until(lambda verdicts: verdicts["a"].active == "")
    bench.put("b", "package team.b\n\ntwice(n) := 3 * n\n", version="2")
    await bench.until_active("a")
    assert await bench.opa.get("team/a/x") == 12


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('package team.a\n\nx := http.send({"method": "get", "url": "http://127.0.0.1:1"})\n', "http.send"),
        ("package team.a\n\nx := opa.runtime().env\n", "opa.runtime"),
        ('package team.a\n\nx := net.lookup_ip_addr("localhost")\n', "net.lookup_ip_addr"),
    ],
)
async def test_functions_that_reach_out_are_missing(bench: Bench, text: str, why: str) -> None:
    bench.put("a", text)
    file, line, code, message = await bench.refused("a")
    assert (file, line, code) == ("m0.rego", 3, "rego_type_error")
    assert message == f"undefined function {why}: not allowed: see the bridge's setting allowed_builtins"


@pytest.mark.parametrize("package", ["bridge.v1", "bridge.extensions.hierarchy", "system.authz", "objects"])
async def test_packages_of_the_bridge_and_of_opa_are_refused(bench: Bench, package: str) -> None:
    bench.put("a", f"# mine\npackage {package}\n\nx := 1\n")
    file, line, code, _ = await bench.refused("a")
    assert (file, line, code) == ("m0.rego", 2, "claim_refused")


async def test_the_older_keeps_the_name_of_an_extension(bench: Bench) -> None:
    text = "package bridge.strategies.largest\n\nresult := input.challenger\n"
    bench.put("old", text, created="2026-01-01T00:00:00Z")
    await bench.until_active("old")  # on a busy machine each may be checked alone, and the first one has the name
    bench.put("young", text, created="2026-02-01T00:00:00Z")
    assert "belongs to core/ConfigMap/policies/old" in (await bench.refused("young"))[3]
    bench.loader.remove(author("old"))
    await bench.until_active("young")


async def test_older_of_two_that_exclude_each_other_is_active_after_a_start(opa_path: Path) -> None:
    async with loading(opa_path, listed=False) as bench:  # OPA names the first by name, whatever its age
        bench.put("young", "package team\n\ndefault x := 2\n", created="2026-02-01T00:00:00Z")
        bench.put("z-old", "package team\n\ndefault x := 1\n", created="2026-01-01T00:00:00Z")
        bench.put("other", "package team.b\n\nx := 1\n")
        bench.loader.listed()
        await bench.until_active("z-old", "other")
        await bench.refused("young")
        assert await bench.opa.get("team/x") == 1
        bench.loader.remove(author("z-old"))
        await bench.until_active("young")


async def test_two_objects_that_only_compile_together_stay_rejected_and_one_object_does_not(bench: Bench) -> None:
    one, two = (f"package team.{a}\n\nf(n) := n\n\nx := data.team.{b}.f(1)\n" for a, b in ("ab", "ba"))
    bench.put("one", one)
    await bench.refused("one")
    bench.put("two", two)
    await bench.refused("two")
    assert bench.verdicts["one"].active == ""
    bench.put("one", one, two, version="2")
    await bench.until_active("one", version="2")


async def test_data_of_another_client_is_not_erased(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader_module, "_RETRY", 1e6)  # a module beside rejected ones does not wait for their timer
    await bench.opa.put("team", {"a": {"config": {"x": 1}}, "c": 2})
    bench.put("a", "package team.a\n\nx := 1\n")
    bench.put("b", "package team.b\n\nx := 1\n")
    bench.put("c", "package team\n\nx := 1\n")
    assert (await bench.refused("a"))[2] == "data_in_the_way"
    assert (await bench.refused("c"))[2] == "data_in_the_way"
    await bench.until_active("b")
    assert await bench.opa.get("team/a/config") == {"x": 1}


async def test_data_of_a_submission_is_at_its_path(bench: Bench) -> None:
    bench.put("limits", data={"most": 3})
    bench.put("a", "package rules.a\n\nx := data.team.limits.most\n")
    bench.put("thief", "package team.limits\n\nmost := 4\n")
    await bench.until_active("a", "limits")
    assert await bench.opa.get("rules/a/x") == 3
    assert (await bench.refused("thief"))[2] == "claim_refused"


async def test_object_that_cannot_be_read_keeps_its_last_good_version(bench: Bench) -> None:
    bench.put("limits", data={"most": 3})
    await bench.until_active("limits")
    problem = ModuleProblem("a.json", 2, 0, "data_parse_error", "invalid JSON")
    bench.loader.submit(Submission(author("limits"), "2", problems=(problem,)))
    assert await bench.refused("limits", "2") == ("a.json", 2, "data_parse_error", "invalid JSON")
    assert bench.verdicts["limits"].active == "1"
    assert await bench.opa.get("team/limits/most") == 3


async def test_a_failing_test_keeps_the_last_good_version(bench: Bench) -> None:
    tests = "package team.a_test\n\nimport data.team.a\n\ntest_double if a.double(2) == 4\n"
    bench.put("a", "package team.a\n\ndouble(n) := 2 * n\n", tests=tests)
    await bench.until_active("a")
    bench.put("a", "package team.a\n\ndouble(n) := 3 * n\n", tests=tests, version="2")
    assert await bench.refused("a", "2") == ("m_test.rego", 5, "test_failed", "the test team.a_test.test_double failed")
    assert bench.verdicts["a"].active == "1"


async def test_authors_who_exchange_their_packages_one_after_the_other_are_active(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader_module, "_RETRY", 0.5)
    bench.put("a", "package team.a\n\nx := 1\n")
    bench.put("b", "package team.b\n\nx := 2\n")
    await bench.until_active("a", "b")
    bench.put("a", "package team.b\n\nx := 3\n", version="2")
    assert (await bench.refused("a", "2"))[2] == "rule_conflict"
    bench.put("b", "package team.a\n\nx := 4\n", version="2")
    await bench.until_active("a", "b", version="2")
    assert [await bench.opa.get(f"team/{name}/x") for name in ("a", "b")] == [4, 3]


async def test_tests_of_a_version_that_a_former_run_has_accepted_are_not_run_again(opa_path: Path) -> None:
    module, tests = "package team.{}\n\nx := 1\n", "package {}_test\n\ntest_x if false\n"
    async with loading(opa_path, listed=False) as bench:
        bench.put("a", module.format("a"), tests=tests.format("a"), in_force="1")
        bench.put("b", module.format("b"), tests=tests.format("b"), in_force="0")
        bench.loader.listed()
        await bench.until_active("a")
        assert (await bench.refused("b"))[2] == "test_failed"
        bench.put("a", module.format("a"), tests=tests.format("a"), version="2", in_force="2")
        assert (await bench.refused("a", "2"))[2] == "test_failed"


async def test_tests_reach_out_as_little_as_modules(bench: Bench) -> None:
    tests = 'package a_test\n\ntest_x if http.send({"method": "get", "url": "http://127.0.0.1:1"})\n'
    bench.put("a", "package team.a\n\nx := 1\n", tests=tests)
    file, line, code, message = await bench.refused("a")
    assert (file, line, code) == ("m_test.rego", 3, "rego_type_error")
    assert "undefined function http.send" in message


async def test_tests_see_nothing_of_the_bridges_environment(opa_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRIDGE_SECRET", "x")
    tests = 'package a_test\n\ntest_x if object.keys(opa.runtime().env) & {"BRIDGE_SECRET", "PATH", "HOME"} == set()\n'
    async with loading(opa_path, allowed=["opa.runtime"]) as bench:
        bench.put("a", "package team.a\n\nx := 1\n", tests=tests)
        await bench.until_active("a")


async def test_modules_that_only_opa_refuses_are_withdrawn(bench: Bench) -> None:
    bench.put("a", "package team.a\n\nx := 1\n")
    await bench.until_active("a")
    # opa check does not compare rules with documents
    bench.loader.submit(
        Submission(author("b"), "1", {"m0.rego": "package team.b\n\ny := 1\n"}, {}, {("team", "b", "y"): 2})
    )
    bench.put("c", "package team.c\n\nx := 1\n")
    file, line, code, message = await bench.refused("b")
    assert (file, line, code) == ("m0.rego", 3, "rego_compile_error")
    assert "conflicting rule" in message
    await bench.until_active("a", "c")
    assert await bench.opa.get("team/b") is None


PAIR = {"policyKind": "x/Y", "established": {}, "challenger": {}}


async def test_a_module_that_fails_in_evaluation_goes_back(bench: Bench) -> None:
    first = "package bridge.strategies.a\n\nresult := 1 if input.policyKind\n"
    bench.put("a", first)
    await bench.until_active("a")
    bench.put("a", f"{first}\nresult := 2 if input.established\n", version="2")
    await bench.until_active("a", version="2")
    with pytest.raises(OpaRejected) as failed:
        await bench.opa.ask("bridge/strategies/a/result", PAIR)
    assert await bench.loader.blame(failed.value)
    assert await bench.opa.ask("bridge/strategies/a/result", PAIR) == 1
    file, line, code, _ = await bench.refused("a", "2")
    assert (file, line, code) == ("m0.rego", 5, "eval_conflict_error")
    assert bench.verdicts["a"].active == "1"


async def test_module_that_fails_because_of_others_data_returns_with_other_data(bench: Bench) -> None:
    bench.put("lib", "package lib.choices\n\nvalues := data.team.config.values\n")
    bench.put("config", data={"values": [1]})
    bench.put("a", "package bridge.strategies.a\n\nresult := value if some value in data.lib.choices.values\n")
    await bench.until_active("lib", "config", "a")
    bench.put("config", data={"values": [1, 2]}, version="2")
    await bench.until_active("config", version="2")
    with pytest.raises(OpaRejected) as failed:
        await bench.opa.ask("bridge/strategies/a/result", PAIR)
    assert await bench.loader.blame(failed.value)
    assert (await bench.refused("a"))[2] == "eval_conflict_error"
    bench.put("other", "package other\n\nx := 1\n")
    await bench.until_active("other")
    assert not bench.verdicts["a"].accepted  # what it does not use cannot have fixed it
    bench.put("config", data={"values": [2]}, version="3")
    await bench.until_active("a")
    assert await bench.opa.ask("bridge/strategies/a/result", PAIR) == 2


async def test_bundle_that_does_not_arrive_whole_is_the_fault_of_no_author(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put("a", "package team.a\n\nx := 1\n")
    await bench.until_active("a")
    endpoint, served = cast("BundleEndpoint", bench.endpoint), []
    whole = endpoint.serve_next

    async def cut(bundle: Bundle) -> None:
        served.append(bundle)
        await whole(bundle, archive_of(bundle.files)[:100])

    with capture_logs() as logs:
        monkeypatch.setattr(endpoint, "serve_next", cut)
        bench.put("b", "package team.b\n\nx := 1\n")
        await until(lambda: any("OPA cannot download the bundle: " in one.get("why", "") for one in logs))
    await whole(served[-1])
    await bench.until_active("b")
    assert bench.verdicts["b"].revision == served[0].revision


async def test_module_that_fails_only_on_a_users_object_stays(bench: Bench) -> None:
    bench.put("a", "package bridge.strategies.a\n\nresult := 1 if input.a\n\nresult := 2 if input.b\n")
    await bench.until_active("a")
    with pytest.raises(OpaRejected) as failed:
        await bench.opa.ask("bridge/strategies/a/result", {"a": True, "b": True})
    assert not await bench.loader.blame(failed.value)
    bench.loader.failing.add("outcomes", "x/Y/shop/cart", failed.value)
    await bench.until(lambda verdicts: bool(verdicts["a"].failing))
    assert bench.verdicts["a"].programmed
    assert bench.verdicts["a"].failing[0].line == 5


CHOICE = "package team\n\nx := value if some value in values\n\nvalues contains 1\n"


async def test_younger_author_with_a_contradicting_member_goes(bench: Bench) -> None:
    bench.put("a", CHOICE)
    bench.put("c", "package bridge.strategies.c\n\nresult := data.team.x if input.policyKind\n")
    await bench.until_active("a", "c")
    bench.put("b", "package team\n\nvalues contains 2 if input.established\n")
    await bench.until_active("b")
    with pytest.raises(OpaRejected) as failed:
        await bench.opa.ask("bridge/strategies/c/result", PAIR)
    assert await bench.loader.blame(failed.value)
    file, _, code, message = await bench.refused("b")
    assert (file, code) == ("", "eval_conflict_error")
    assert message.startswith("core/ConfigMap/policies/a m0.rego:3: ")
    assert await bench.opa.ask("bridge/strategies/c/result", PAIR) == 1
    assert not await bench.loader.blame(OpaRejected(500, "internal_error", "", [{"code": "eval_conflict_error"}]))
    bench.loader.remove(author("a"))
    await bench.until_active("b")


async def test_younger_author_returns_if_a_module_fails_without_it_too(bench: Bench) -> None:
    bench.put("config", data={"values": [1]})
    bench.put("a", "package shared\n\nx := value if some value in data.team.config.values\n")
    bench.put("c", "package bridge.strategies.c\n\nresult := data.shared.x if input.policyKind\n")
    await bench.until_active("config", "a", "c")
    bench.put("b", "package shared\n\ndeny contains 1\n")
    await bench.until_active("b")
    bench.put("config", data={"values": [1, 2]}, version="2")
    await bench.until_active("config", version="2")

    async def blamed() -> bool:
        with pytest.raises(OpaRejected) as failed:
            await bench.opa.ask("bridge/strategies/c/result", PAIR)
        return await bench.loader.blame(failed.value)

    assert await blamed()
    assert (await bench.refused("b"))[2] == "eval_conflict_error"
    assert await blamed()
    assert (await bench.refused("a"))[2] == "eval_conflict_error"
    await bench.until_active("b")
    assert await bench.opa.get("shared/deny") == [1]


async def test_contradiction_on_an_object_is_reported_to_the_youngest_author_of_the_package(bench: Bench) -> None:
    bench.put("young", 'package team\n\nvalues contains 2 if input.role == "db"\n', created=YOUNGER)
    bench.put("old", CHOICE, created=OLDER)
    await bench.until_active("old", "young")
    with pytest.raises(OpaRejected) as failed:
        await bench.opa.ask("team/x", {"role": "db"})
    assert not await bench.loader.blame(failed.value)
    bench.loader.failing.add("violations", "core/Service/shop/cart", failed.value)
    await bench.until(lambda verdicts: bool(verdicts["young"].failing))
    assert (
        bench.verdicts["young"]
        .failing[0]
        .message.startswith("fails on core/Service/shop/cart: core/ConfigMap/policies/old m0.rego:3: ")
    )
    assert not bench.verdicts["old"].failing
    assert bench.verdicts["young"].programmed


OLDER, YOUNGER = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


@pytest.mark.parametrize(
    "rule",
    [
        "limit := 4",
        'limit := 4 if input.role == "db"',
        "twice(_) := 0",
        "default limit := 9",
        "sizes[name] := 4 if some name in input.names",
        'open["a"] := 4',
        "open[x].b := 4 if some x in input.names",
    ],
)
async def test_younger_author_may_not_contradict_a_rule_of_the_package(bench: Bench, rule: str) -> None:
    rules = 'limit := 3\n\ntwice(n) := n * 2\n\nsizes["a"] := 1\n\nopen[x] := 1 if some x in input.names\n'
    bench.put("old", f"package team\n\n{rules}", created=OLDER)
    await bench.until_active("old")
    bench.put("young", f"package team\n\n# mine\n{rule}\n", created=YOUNGER)
    file, line, code, message = await bench.refused("young")
    assert (file, line, code) == ("m0.rego", 4, "rule_conflict")
    assert "belongs to core/ConfigMap/policies/old" in message
    assert await bench.opa.get("team/limit") == 3


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("package acme\n\nguard.limit := 99\n", "acme.guard.limit"),
        ('package acme\n\nguard[name] := 99 if some name in ["limit", "deny"]\n', "acme.guard"),
        ("package acme.guard.more\n\nrest := 1\n", ""),
        ("package acme.guard.kinds\n\nservice := 2\n", "acme.guard.kinds.service"),
    ],
    ids=["by a path", "by any name", "beside it", "below a rule"],
)
async def test_younger_author_may_not_reach_into_the_package_of_an_older_one(
    bench: Bench, text: str, name: str
) -> None:
    """Not from a package above or below it either: OPA finds two values only when it evaluates both."""
    rules = ("limit := 3", 'deny contains "no" if input.x', 'kinds[kind] := 1 if some kind in {"pod"}')
    bench.put("older", "\n\n".join(("package acme.guard", *rules)), created="2026-01-01T00:00:00Z")
    await bench.until_active("older")
    bench.put("younger", text, created="2026-02-01T00:00:00Z")
    if name:
        _, line, code, message = await bench.refused("younger")
        assert (line, code) == (3, "rule_conflict")
        assert message.startswith(f"{name} belongs to core/ConfigMap/policies/older")
    else:
        await bench.until_active("younger")
    found = await bench.opa.ask("acme/guard", {"x": True})
    assert (found["limit"], found["deny"], found["kinds"]) == (3, ["no"], {"pod": 1})


async def test_authors_share_sets_and_rules_that_are_only_true(bench: Bench) -> None:
    bench.put("old", "package team\n\ndefault allow := false\n\nallow if input.a\n\ndeny contains 1\n", created=OLDER)
    bench.put("young", "package team\n\nallow if input.b\n\ndeny contains 2\n", created=YOUNGER)
    await bench.until_active("old", "young")
    assert await bench.opa.ask("team", {"b": 1}) == {"allow": True, "deny": [1, 2]}


async def test_authors_repeat_a_constant_with_the_same_value(bench: Bench) -> None:
    rules = 'operations := {"CREATE", "UPDATE"}\n\nsize(_) := 1\n'
    bench.put("old", f"package team\n\n{rules}", created=OLDER)
    bench.put("young", f"package team\n\n{rules}\ndeny contains 2 if operations[input.a]\n", created=YOUNGER)
    await bench.until_active("old", "young")
    assert await bench.opa.ask("team/deny", {"a": "CREATE"}) == [2]
    for other in ('operations := {"CREATE"}', "size(_) := 2", "size(x) := x", 'operations := {"CREATE"} if input.b'):
        bench.put("third", f"package team\n\n{other}\n", created="2026-03-01T00:00:00Z")
        assert (await bench.refused("third"))[2] == "rule_conflict"
        bench.loader.remove(author("third"))


async def test_rules_that_share_a_changed_name_with_an_older_author_fail(opa_path: Path) -> None:
    young = 'package team\n\noperations := {"CREATE", "UPDATE"}\n\ndeny contains 2 if operations[input.a]\n'
    changed = 'package team\n\noperations := {"CREATE"}\n\nallow if input.a\n'
    async with loading(opa_path) as bench:
        bench.put("old", 'package team\n\noperations := {"CREATE", "UPDATE"}\n', created=OLDER)
        await bench.until_active("old")
        bench.put("young", young, created=YOUNGER)
        await bench.until_active("young")
        bench.put("old", changed, version="2", created=OLDER)
        assert (await bench.refused("young"))[2] == "rules_lost"
        await bench.until_active("old", version="2")
        await _is_lost(bench)
        bench.put("old", young, version="3", created=OLDER)
        await bench.until_active("young")
        assert await bench.opa.ask("team/deny", {"a": "UPDATE"}) == [2]
    async with loading(opa_path, listed=False) as bench:
        bench.put("old", changed, created=OLDER)
        bench.loader.submit(_lost("young", young, created=YOUNGER))
        bench.loader.listed()
        await bench.until_active("old")
        await bench.until(lambda _: bench.loader.links() is not None)
        await _is_lost(bench)


async def _is_lost(bench: Bench) -> None:
    """Check that the rule of the younger author fails, and the older one's names have their values."""
    with pytest.raises(OpaRejected):
        await bench.opa.ask("team/deny", {"a": "CREATE"})
    assert await bench.opa.get("team/operations") == ["CREATE"]
    assert await bench.opa.ask("team/allow", {"a": 1}) is True


async def test_authors_share_an_object_by_different_keys(bench: Bench) -> None:
    bench.put("a", 'package team\n\nsizes["a"] := 1\n\nports[1][x] := 1 if some x in [1]\n', created=OLDER)
    bench.put("b", 'package team\n\nsizes["b"] := 2\n\nports[2][x] := 2 if some x in [1]\n', created=YOUNGER)
    await bench.until_active("a", "b")
    assert await bench.opa.get("team/sizes") == {"a": 1, "b": 2}


async def test_author_of_a_package_regains_a_name_that_a_younger_one_took(bench: Bench) -> None:
    bench.put("old", "package team\n\nx := 1\n", created=OLDER)
    await bench.until_active("old")
    bench.put("young", "package team\n\nfresh := 2\n", created=YOUNGER)
    await bench.until_active("young")
    bench.put("old", "package team\n\nx := 1\n\nfresh := 3\n", created=OLDER, version="2")
    await bench.until_active("old", version="2")
    assert (await bench.refused("young"))[2] == "rule_conflict"
    assert await bench.opa.get("team/fresh") == 3


async def test_older_author_may_not_take_a_name_in_the_package_of_a_younger_one(bench: Bench) -> None:
    bench.put("old", "package mine\n\nx := 1\n", created=OLDER)
    bench.put("young", "package team\n\nlimit := 3\n", created=YOUNGER)
    await bench.until_active("old", "young")
    taken = ["package team\n\nlimit := 4\n", "package team.limit\n\nx := 4\n", "package team\n\nlimit(x) := x\n"]
    for version, module in enumerate(taken, 2):
        bench.put("old", "package mine\n\nx := 2\n", module, created=OLDER, version=str(version))
        await bench.refused("old", str(version))
        assert await bench.opa.get("team/limit") == 3


async def test_younger_author_does_not_freeze_a_function_that_it_calls(bench: Bench) -> None:
    bench.put("old", "package team\n\ntwice(n) := n * 2\n", created=OLDER)
    bench.put("young", "package other\n\nx := data.team.twice(1)\n", created=YOUNGER)
    await bench.until_active("old", "young")
    bench.put("old", "package team\n\ntwice(n, m) := n * m\n\nx := twice(2, 4)\n", created=OLDER, version="2")
    await bench.until_active("old", version="2")
    assert await bench.opa.get("team/x") == 8
    file, line, code, message = await bench.refused("young")
    assert (file, line, code) == ("m0.rego", 3, "rules_lost")
    assert "since core/ConfigMap/policies/old was changed (function data.team.twice has arity 2" in message


NEEDING = """package rules

import data.team.lib

default allow := false

allow if lib.good(input)

deny contains "no" if lib.bad(input)

notes[key] := 1 if some key in lib.keys

size(x) := lib.size(x)
"""
LIBRARY = "package team.lib\n\ngood(_) := true\n\nbad(_) := true\n\nkeys := {1}\n\nsize(_) := 1\n"


async def test_rules_that_lose_their_library_fail_instead_of_missing(bench: Bench) -> None:
    losses: list[tuple[str, list[str]]] = []
    bench.loader.on_loss(lambda lost, causes: losses.append((lost.name, [cause.name for cause in causes])))
    bench.put("lib", LIBRARY)
    bench.put("rules", NEEDING)
    bench.put("beside", 'package rules\n\ndeny contains "other" if input.x\n\nfree := 1\n')
    bench.put("uses", "package uses\n\nx := data.rules.size(1)\n")
    await bench.until_active("lib", "rules", "beside", "uses")
    bench.loader.remove(author("lib"))
    file, line, code, message = await bench.refused("rules")
    assert (file, line, code) == ("m0.rego", 7, "rules_lost")
    assert "since core/ConfigMap/policies/lib was deleted" in message
    assert bench.verdicts["rules"].active == ""
    assert author("rules") in bench.loader.lost
    assert ("rules", ["lib"]) in losses
    await bench.until(lambda _: bench.loader.links() is not None)
    for path in ("allow", "deny", "notes", ""):
        with pytest.raises(OpaRejected, match="policy_bridge_lost produced conflicting values"):
            await bench.opa.ask(f"rules/{path}".removesuffix("/"), {"x": 1})
    with pytest.raises(OpaRejected):
        await bench.opa.get("uses/x")
    assert await bench.opa.get("rules/free") == 1
    bench.put("lib", LIBRARY)
    await bench.until_active("rules", "uses")
    assert not bench.loader.lost
    assert await bench.opa.ask("rules/deny", {"x": 1}) == ["no", "other"]


def _lost(name: str, *modules: str, created: str = "") -> Submission:
    """Return a submission whose status states that its rules are lost."""
    texts = {f"m{number}.rego": text for number, text in enumerate(modules)}
    return Submission(
        author(name), "1", texts, lost=f"{LOST_RULES} core/ConfigMap/policies/lib was deleted", created=created
    )


async def test_many_that_lose_their_library_delay_no_other_author(bench: Bench) -> None:
    users = [f"user{number}" for number in range(10)]
    bench.put("lib", "package lib\n\nf(x) := x\n")
    for name in users:
        bench.put(name, f"package {name}\n\nx := data.lib.f(1)\n")
    await bench.until_active("lib", *users)
    runs = bench.checker.runs
    bench.loader.remove(author("lib"))
    bench.put("other", "package other\n\nx := 1\n")
    await bench.until_active("other")
    assert bench.checker.runs - runs < len(users)
    for name in users:
        assert LOST_RULES in (await bench.refused(name))[3]


async def test_lost_rules_still_fail_after_a_restart(opa_path: Path) -> None:
    async with loading(opa_path, listed=False) as bench:
        bench.loader.submit(_lost("rules", NEEDING))
        bench.put("beside", 'package rules\n\ndeny contains "other" if input.x\n\nfree := 1\n')
        bench.loader.listed()
        file, line, code, message = await bench.refused("rules")
        assert (file, line, code) == ("m0.rego", 7, "rules_lost")
        assert message.startswith(f"{LOST_RULES} core/ConfigMap/policies/lib was deleted (undefined function")
        await bench.until_active("beside")
        with pytest.raises(OpaRejected, match="policy_bridge_lost produced conflicting values"):
            await bench.opa.ask("rules/deny", {"x": 1})
        assert await bench.opa.get("rules/free") == 1
        bench.put("lib", LIBRARY)
        await bench.until_active("rules")
        assert await bench.opa.ask("rules/deny", {"x": 1}) == ["no", "other"]


async def test_loss_that_an_author_invents_breaks_nobody_else(opa_path: Path) -> None:
    async with loading(opa_path, listed=False) as bench:
        bench.put("old", "package team\n\nlimit := 3\n\nsize(_) := 1\n\nx := size(1)\n", created=OLDER)
        bench.loader.submit(_lost("liar", "package team\n\nlimit := data.none.f(1)\n", created=YOUNGER))
        bench.loader.submit(_lost("other", "package team\n\nsize(_, _) := data.none.f(1)\n", created=YOUNGER))
        bench.loader.submit(_lost("third", "package fine\n\ny := data.none.f(1)\n", created=YOUNGER))
        bench.loader.listed()
        await bench.until_active("old")
        assert await bench.opa.get("team") == {"limit": 3, "x": 1}
        with pytest.raises(OpaRejected):
            await bench.opa.get("fine/y")
        assert [lost.name for lost in bench.loader.lost] == ["third"]


async def test_loss_in_a_status_counts_only_at_the_start(bench: Bench) -> None:
    bench.loader.submit(_lost("rules", NEEDING))
    assert (await bench.refused("rules"))[2] == "rego_type_error"
    assert not bench.loader.lost


async def test_lost_function_returns_in_another_form(bench: Bench) -> None:
    bench.put("lib", LIBRARY)
    bench.put("rules", "package rules\n\nsize(x) := data.team.lib.size(x)\n")
    bench.put("beside", "package beside\n\nfree := 1\n")
    await bench.until_active("lib", "rules", "beside")
    bench.loader.remove(author("lib"))
    await bench.refused("rules")
    bench.put("rules", "package rules\n\nsize(x, y) := x + y\n\nz := size(1, 2)\n", version="2")
    await bench.until_active("rules", version="2")
    assert await bench.opa.get("rules/z") == 3


async def test_dependents_of_an_author_are_those_that_do_not_compile_without_it(bench: Bench) -> None:
    bench.put("lib", LIBRARY)
    bench.put("rules", NEEDING)
    bench.put("beside", "package rules\n\nfree := 1\n")
    await bench.until_active("lib", "rules", "beside")
    found = await bench.loader.find_dependents(author("lib"))
    assert found is not None
    assert found[0].startswith("core/ConfigMap/policies/rules m0.rego:7:")
    assert await bench.loader.find_dependents(author("beside")) == []
    assert await bench.loader.find_dependents(author("unknown")) is None
    await bench.until_active("rules")


async def test_dependents_are_searched_with_one_check_at_a_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"m{number}" for number in range(5)]
    for name in names:
        bench.put(name, f"package team.{name}\n\nx := 1\n")
    await bench.until_active(*names)
    run, running, most = bench.checker._run, 0, 0

    async def count(*arguments: Any, **options: Any) -> tuple[int, bytes, bytes]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await run(*arguments, **options)
        finally:
            running -= 1

    monkeypatch.setattr(bench.checker, "_run", count)
    assert await asyncio.gather(*(bench.loader.find_dependents(author(name)) for name in names)) == [[]] * len(names)
    assert most == 1


async def test_check_of_a_removal_outlives_its_request_and_counts_for_the_next_one_about_the_same_set(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put("lib", LIBRARY)
    bench.put("rules", NEEDING)
    await bench.until_active("lib", "rules")
    run, free, calls = bench.checker._run, asyncio.Event(), 0

    async def wait(*arguments: Any, **options: Any) -> tuple[int, bytes, bytes]:
        nonlocal calls
        calls += 1
        await free.wait()
        return await run(*arguments, **options)

    monkeypatch.setattr(bench.checker, "_run", wait)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(bench.loader.find_dependents(author("lib")), 0.05)
    assert calls == 1
    free.set()
    found = await bench.loader.find_dependents(author("lib"))
    assert found is not None
    assert found[0].startswith("core/ConfigMap/policies/rules m0.rego:7:")
    checked = calls
    assert await bench.loader.find_dependents(author("lib")) == found
    assert calls == checked
    bench.loader.remove(author("rules"))
    await until(lambda: "rules" not in {one.author.name for one in bench.loader._served})
    assert await bench.loader.find_dependents(author("lib")) == []


async def test_lost_rules_are_gone_with_their_author(bench: Bench) -> None:
    bench.put("lib", "package team.lib\n\ngood(_) := true\n")
    bench.put("rules", "package rules\n\nallow if data.team.lib.good(1)\n")
    bench.put("beside", "package rules\n\nfree := 1\n")
    await bench.until_active("lib", "rules", "beside")
    bench.loader.remove(author("lib"))
    await bench.refused("rules")
    bench.loader.remove(author("rules"))
    await asyncio.wait_for(bench.loader.wait_until_settled(), DEADLINE)
    assert not bench.loader.lost
    assert await bench.opa.get("rules") == {"free": 1}


async def test_200_modules_in_one_megabyte(bench: Bench) -> None:
    filler = "# " + "x" * 4900 + "\n"
    bench.put("a", *(f"{filler}package team.p{number}\n\nx := {number}\n" for number in range(200)))
    await bench.until_active("a")
    assert await bench.opa.get("team/p199/x") == 199


async def test_100_that_are_there_at_the_start_are_checked_at_once(opa_path: Path) -> None:
    async with loading(opa_path, listed=False) as bench:
        for number in range(100):
            bench.put(f"n{number}", f"package team.p{number}\n\nx := {number}\n")
        bench.loader.listed()
        await bench.until_active(*(f"n{number}" for number in range(100)))
        assert bench.checker.runs == 2  # what opa can, and the check
        bench.put("n7", "package team.p7\n\nx := nowhere\n", version="2")
        await bench.refused("n7", "2")
        assert bench.checker.runs <= 4


async def test_nothing_is_served_before_the_first_list_is_over(opa_path: Path) -> None:
    async with loading(opa_path, listed=False) as bench:
        bench.put("a", "package team.a\n\nx := 1\n")
        await asyncio.sleep(0.3)
        assert await bench.opa.bundle_revision() is None
        bench.loader.listed()
        await bench.until_active("a")


async def test_opa_that_is_unavailable_at_the_start_gets_them_when_it_is_there(opa_path: Path) -> None:
    async with loading(opa_path, listed=False) as bench:
        await bench.managed.stop()
        bench.loader.listed()
        bench.put("a", "package team.a\n\nx := 1\n")
        bench.put("b", "package team.b\n\nx := nowhere\n")
        await bench.refused("b")
        await bench.until(lambda verdicts: verdicts["a"].accepted and not verdicts["a"].programmed)
        async with ManagedOpa(opa_path, bench.config, port=int(bench.managed.url.rpartition(":")[2])):
            await bench.until_active("a")


async def test_a_check_ends_with_the_loader(opa_path: Path, tmp_path: Path) -> None:
    slow = tmp_path / "opa"
    slow.write_text(f'#!/bin/sh\ntest "$1" = check || exec {opa_path} "$@"\necho $$ > {tmp_path}/pid\nexec sleep 600\n')
    slow.chmod(0o755)
    checker = Checker(slow, {}, patience=300)
    task = asyncio.create_task(checker.check({"a.rego": "package a\n"}, {}))
    await until(lambda: (tmp_path / "pid").read_text().endswith("\n"))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


async def test_a_check_that_took_too_long_is_made_again(opa_path: Path, tmp_path: Path) -> None:
    slow = tmp_path / "opa"
    slow.write_text(f'#!/bin/sh\ntest "$1" = check || exec {opa_path} "$@"\nexec sleep 600\n')
    slow.chmod(0o755)
    judge = Judge(Checker(slow, {}, patience=1), FEW)
    submissions = [Submission(author("a"), "1", {"a.rego": "package a\n"})]
    assert [fault.problem.code for fault in await judge.find_faults(submissions)] == ["timeout"]
    slow.write_text(f'#!/bin/sh\nexec {opa_path} "$@"\n')
    judge._checker._patience = DEADLINE
    assert not await judge.find_faults(submissions)


async def test_lost_rules_are_not_given_up_because_a_check_took_too_long(opa_path: Path, tmp_path: Path) -> None:
    slow = tmp_path / "opa"
    slow.write_text(f'#!/bin/sh\ntest "$1" = eval || exec {opa_path} "$@"\nexec sleep 600\n')
    slow.chmod(0o755)
    judge = Judge(Checker(slow, {}, patience=1), FEW)
    lost, beside = (Submission(author(name), "1", {"a.rego": "package a\n\nx := 1\n"}) for name in ("lost", "beside"))
    with pytest.raises(CheckError):
        await judge.make_failing(lost, [])
    with pytest.raises(CheckError):
        await judge.make_failing(lost, [beside])
    slow.write_text(f'#!/bin/sh\nexec {opa_path} "$@"\n')
    judge._checker._patience = DEADLINE
    [module] = (await judge.make_failing(lost, []) or {}).values()
    assert "x := policy_bridge_lost(true)" in module
    assert await judge.make_failing(lost, [beside]) is None
