"""An OPA that its user starts: with own files, with --v0-compatible, and with documents that come and go."""

from functools import partial
from pathlib import Path
from typing import cast

import msgspec
import pytest
from aiohttp import ClientSession

from bridge.model.types import plural_by_rule
from bridge.opa.bundle import archive_of, build_bundle
from bridge.opa.credentials import new_credentials
from bridge.policy_loader import loader as module
from bridge.policy_loader.assembly import kubernetes_view
from bridge.policy_loader.submissions import ModuleProblem
from tests.eventually import equal_to, eventually
from tests.integration.loading import DEADLINE, UsersOpa, author, loading, until

FILE = 'package shared.authz\n\nallow if input.user == "root"\n'
GUARD = """package guard

deny contains ns if {
	some ns in input.namespaces
	not data.kubernetes.networkpolicies[ns]
}

none if count(data.kubernetes.namespaces) == 0
"""


def view() -> str:
    return kubernetes_view(["core/Namespace", "networking.k8s.io/NetworkPolicy"], plural_by_rule)


async def test_policy_file_survives_a_restart_of_opa(opa_path: Path, tmp_path: Path) -> None:
    start = partial(UsersOpa, opa_path, tmp_path)
    async with loading(opa_path, start=start) as bench:
        users_opa = cast("UsersOpa", bench.managed)
        bench.put("team", "package shared.authz\n\nextra := 1\n")
        bench.put("other", "package other\n\nx := 1\n")
        await bench.until_active("team", "other")
        (tmp_path / "own.rego").write_text(FILE)
        await users_opa.restart()
        assert (await bench.refused("team"))[2] == "data_in_the_way"
        assert "OPA has the policy " in bench.verdicts["team"].problems[0].message
        assert "own.rego at shared.authz" in bench.verdicts["team"].problems[0].message
        await eventually(lambda: bench.opa.get("other/x"), patience=DEADLINE)
        assert await bench.opa.ask("shared/authz/allow", {"user": "root"}) is True
        assert bench.verdicts["other"].programmed
        (tmp_path / "own.rego").unlink()
        await users_opa.restart()
        await bench.until_active("team")


async def test_modules_are_rego_v1_in_an_opa_that_is_compatible_with_v0(opa_path: Path, tmp_path: Path) -> None:
    (tmp_path / "own.rego").write_text('package own\n\ndeny["x"] { input.x }\n')
    start = partial(UsersOpa, opa_path, tmp_path, "--v0-compatible")
    async with loading(opa_path, start=start) as bench:
        bench.put("team", "package team\n\nx contains 1 if true\n")
        await bench.until_active("team")
        assert await bench.opa.get("team/x") == [1]
        assert await bench.opa.ask("own/deny", {"x": True}) == ["x"]


@pytest.mark.parametrize("options", [["--v0-compatible"], []], ids=["v0", "v1"])
async def test_opa_takes_no_policies_of_others_beside_modules_of_another_rego_version(
    opa_path: Path, tmp_path: Path, options: list[str]
) -> None:
    """OPA's own limit, which docs/how-to/move-from-kube-mgmt.md states with the ways out."""
    async with loading(opa_path, start=partial(UsersOpa, opa_path, tmp_path, *options)) as bench:
        bench.put("team", 'package team\n\ndeny["x"] { input.x }\n', old=True)
        bench.put("new", "package new\n\nx contains 1 if true\n")
        await bench.until_active("team", "new")
        async with ClientSession() as session:
            for own in ('package own\n\ndeny["x"] { input.x }\n', "package own\n\nx contains 1 if true\n"):
                async with session.put(f"{bench.opa.url}/v1/policies/own", data=own) as answer:
                    assert answer.status in {400, 500}
        assert await bench.opa.ask("team/deny", {"x": True}) == ["x"]
        assert await bench.opa.get("new/x") == [1]


async def test_data_and_a_bundle_in_the_way_are_named(opa_path: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "own.tar.gz"
    bundle.write_bytes(build_bundle({"a.rego": "package owned.a\n\nx := 1\n"}, {}, ["owned"]).content)
    async with loading(opa_path, start=partial(UsersOpa, opa_path, tmp_path, "--bundle", str(bundle))) as bench:
        await bench.opa.put("app/rbac/roles", {"eve": ["admin"]})
        bench.put("rbac", "package app.rbac\n\nallow if data.app.rbac.roles[input.user]\n")
        bench.put("owned", "package owned.a\n\ny := 1\n")
        assert "OPA has data of another client at app.rbac" in (await bench.refused("rbac"))[3]
        assert "keep data outside of the packages" in bench.verdicts["rbac"].problems[0].message
        assert "OPA has the bundle " in (await bench.refused("owned"))[3]


async def test_package_in_the_roots_of_another_bundle_is_refused_alone_also_after_a_restart_of_opa(
    opa_path: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "own.tar.gz"
    rego = {"a.rego": "package owned.a\n\nx := 1\n"}
    bundle.write_bytes(build_bundle(rego, {}, ["owned"]).content)
    async with loading(opa_path, start=partial(UsersOpa, opa_path, tmp_path, "--bundle", str(bundle))) as bench:
        bench.put("empty", "package owned.nothing.there\n\nx := 1\n")
        bench.put("above", "package later\n\nx := 1\n")
        bench.put("team", "package team\n\nx := 1\n")
        await bench.until_active("team", "above")
        message = (await bench.refused("empty"))[3]
        assert "OPA has the bundle " in message
        assert "at owned.nothing.there" in message
        assert await bench.opa.get("owned") == {"a": {"x": 1}}
        bundle.write_bytes(build_bundle(rego, {}, ["later/part", "owned"]).content)
        await cast("UsersOpa", bench.managed).restart()
        assert "OPA has the bundle " in (await bench.refused("above"))[3]
        await eventually(lambda: bench.opa.get("team"), equal_to({"x": 1}))
        assert await bench.opa.get("owned") == {"a": {"x": 1}}


async def test_bundle_that_owns_a_package_of_the_bridge_is_named_and_no_author_blamed(
    opa_path: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "own.tar.gz"
    rego = {"a.rego": "package owned.a\n\nx := 1\n"}
    bundle.write_bytes(build_bundle(rego, {}, ["bridge", "owned"]).content)
    start = partial(UsersOpa, opa_path, tmp_path, "--bundle", str(bundle))
    async with loading(opa_path, listed=False, start=start) as bench:
        problems: list[ModuleProblem] = []
        bench.loader.listen(lambda verdict: problems.extend(verdict.problems))
        bench.put("team", "package team\n\nx := 1\n")
        bench.loader.listed()
        await until(lambda: "own.tar.gz at bridge.v1, which the bridge's bundle must own" in bench.loader.unready)
        bundle.write_bytes(build_bundle(rego, {}, ["owned"]).content)
        await cast("UsersOpa", bench.managed).restart()
        await bench.until_active("team")
        assert not bench.loader.unready
        assert not problems


async def test_module_beside_a_conflicting_document_of_another_client_joins_when_that_is_gone(
    opa_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RETRY", 0.5)
    async with loading(opa_path, start=partial(UsersOpa, opa_path, tmp_path)) as bench:
        await bench.opa.put("team", 5)
        bench.put("team", "package team.b\n\nx := 1\n")
        assert "conflicting rule for data path" in (await bench.refused("team"))[3]
        await bench.opa.put("team", {})
        await bench.until_active("team")
        assert await bench.opa.get("team") == {"b": {"x": 1}}


async def test_opa_that_starts_again_and_does_not_take_the_bundle_is_not_ready(opa_path: Path, tmp_path: Path) -> None:
    async with loading(opa_path, start=partial(UsersOpa, opa_path, tmp_path)) as bench:
        bench.put("team", "package team\n\nx := 1\n")
        await bench.until_active("team")
        opa, file = cast("UsersOpa", bench.managed), tmp_path / "config.json"
        key = new_credentials().trust.public_key
        (trusted,) = bench.config["keys"]
        file.write_bytes(
            msgspec.json.encode(bench.config | {"keys": {trusted: {**bench.config["keys"][trusted], "key": key}}})
        )
        await opa.restart()
        await until(lambda: bench.loader.unready.startswith("OPA cannot download the bundle: "))
        file.write_bytes(msgspec.json.encode(bench.config))
        await opa.restart()
        await until(lambda: not bench.loader.unready)
        assert bench.verdicts["team"].programmed


async def test_disk_storage_is_named(opa_path: Path, tmp_path: Path) -> None:
    start = partial(UsersOpa, opa_path, tmp_path, "--set", f"storage.disk.directory={tmp_path}")
    start = partial(start, "--set", "storage.disk.auto_create=true")
    async with loading(opa_path, listed=False, start=start) as bench:
        bench.loader.listed()
        await until(lambda: "storage.disk" in bench.loader.unready)


async def test_bundle_that_owns_everything_is_named(opa_path: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "own.tar.gz"
    bundle.write_bytes(archive_of({"a.rego": b"package a\n\nx := 1\n"}))
    async with loading(
        opa_path, listed=False, start=partial(UsersOpa, opa_path, tmp_path, "--bundle", str(bundle))
    ) as bench:
        bench.loader.listed()
        await until(lambda: "own.tar.gz" in bench.loader.unready)


async def test_package_in_the_place_of_a_type_is_refused_at_its_line(opa_path: Path) -> None:
    async with loading(opa_path, kubernetes=view) as bench:
        bench.put("mine", "# mine\npackage kubernetes.namespaces\n\nx := 1\n")
        file, line, code, message = await bench.refused("mine")
        assert (file, line, code) == ("m0.rego", 2, "claim_refused")
        assert "choose another package, such as kubernetes.admission.namespaces" in message
        mock = "with data.kubernetes.namespaces.shop as {}"
        bench.put("tested", f"package tested\n\ntest_it if count(data.kubernetes.namespaces) == 1 {mock}\n")
        file, line, _, message = await bench.refused("tested")
        assert (file, line) == ("m0.rego", 3)
        assert "replace a whole type" in message


async def test_type_without_objects_is_an_empty_document_of_the_view(opa_path: Path) -> None:
    async with loading(opa_path, kubernetes=view) as bench:
        bench.put("guard", GUARD)
        await bench.until_active("guard")
        assert await bench.opa.ask("guard", {"namespaces": ["shop"]}) == {"deny": ["shop"], "none": True}


async def test_view_returns_once_its_place_is_free(opa_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY", 0.2)
    async with loading(opa_path, listed=False, kubernetes=view) as bench:
        await bench.opa.put("objects", {"core": {"Namespace": {"-": {"shop": {"x": 1}}}}})
        await bench.opa.put("kubernetes", {"namespaces": {"old": {}}})
        bench.loader.listed()
        bench.put("admission", "package kubernetes.admission\n\nnames := object.keys(data.kubernetes.namespaces)\n")
        await bench.until_active("admission")
        assert await bench.opa.get("kubernetes/admission/names") == ["old"]
        await until(lambda: bool(bench.verdicts["admission"].failing))
        (problem,) = bench.verdicts["admission"].failing
        assert (problem.file, problem.line, problem.code) == ("m0.rego", 3, "view_missing")
        assert bench.loader.unready.endswith("read by core/ConfigMap/policies/admission")
        assert await bench.opa.missing_view() == bench.loader.view_missing != ""
        assert list(await bench.opa.module_states()) == [author("admission")]
        await bench.opa.patch([{"op": "remove", "path": "/kubernetes/namespaces"}])
        await until(lambda: not bench.loader.view_missing)
        await eventually(lambda: bench.opa.get("kubernetes/namespaces/shop"), patience=DEADLINE)
        assert await bench.opa.get("kubernetes/admission/names") == ["shop"]
        await until(lambda: not bench.verdicts["admission"].failing)
        await eventually(bench.opa.missing_view, lambda why: why == "")
        assert bench.loader.unready == ""
        assert bench.verdicts["admission"].programmed
