"""The setting `types`, from its file to OPA: which types, objects and fields, and what goes when it is changed."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge.opa.bundle import opa_config
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from tests.bundle_trust import shared_trust
from tests.controlplane.plane import ControlPlane
from tests.integration.api_objects import apply_crd, make_namespace, put_config_map

RBAC = "rbac.authorization.k8s.io"


@contextlib.asynccontextmanager
async def running(
    start: tuple[Path, str], plane: ControlPlane, opa: Opa, folder: Path, environment: dict[str, str], types: str
) -> AsyncIterator[None]:
    """`pbctl run` with this setting, once it has synced OPA. `start` is the command and where it listens."""
    settings = folder / "bridge.yaml"
    settings.write_text(f"types:\n{types}")
    command = [str(start[0]), "run", "--config", str(settings), "--kubeconfig", str(plane.kubeconfig)]
    command += ["--opa", opa.url, "--listen", start[1]]
    before = await opa.get("bridge_state/epoch")
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log, env=environment)
        try:
            deadline = time.monotonic() + 300
            while (state := await opa.get("bridge_state") or {}).get("epoch") == before or not state.get("filled"):
                assert process.returncode is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, (folder / "log").read_text()
                await asyncio.sleep(0.1)
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


def version(name: str, **spec: Any) -> dict[str, Any]:
    """A served version of a CRD whose policies have a target ref and these fields."""
    ref = {"type": "object", "properties": {field: {"type": "string"} for field in ("group", "kind", "name")}}
    fields = {"spec": {"type": "object", "properties": {"targetRef": ref, **spec}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": fields}}
    return {"name": name, "served": True, "storage": name == "v1", "schema": schema}


async def held(opa: Opa, path: str) -> Any:
    return await opa.get(f"objects/{path}") or {}


@pytest.mark.long
async def test_types_select_the_objects_and_fields_in_opa(
    control_plane: ControlPlane,
    bridge_path: Path,
    opa_path: Path,
    environment: dict[str, str],
    tmp_path: Path,
    unused_tcp_port: int,
) -> None:
    api = control_plane.api
    first, second, other = [await make_namespace(api) for _ in range(3)]
    for namespace in (first, second, other):
        await put_config_map(api, namespace, "one", {"text": namespace})
        await put_config_map(api, namespace, "two", {"text": namespace})
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hidden"}, "stringData": {"password": "x"}}
    await asyncio.to_thread(api.apply, f"/api/v1/namespaces/{first}/secrets/hidden", secret)
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": first}, "rules": []}
    await asyncio.to_thread(api.apply, f"/apis/{RBAC}/v1/clusterroles/{first}", role)
    many = f"""
- core/Secret
- {RBAC}/ClusterRole
- type: core/ConfigMap
  namespaces: [{first}, {second}]
  fieldSelector: metadata.name!=two
  drop: [/data/text]
"""
    few = f"- type: core/ConfigMap\n  namespaces: [{second}]\n"
    start = (bridge_path, f"127.0.0.1:{unused_tcp_port}")
    config = opa_config(f"http://{start[1]}", shared_trust())  # it takes its modules from the bridge
    async with ManagedOpa(opa_path, config) as managed, Opa(managed.url) as opa:
        async with running(start, control_plane, opa, tmp_path, environment, many):
            maps = await held(opa, "core/ConfigMap")
            assert {namespace: sorted(names) for namespace, names in maps.items()} == {first: ["one"], second: ["one"]}
            assert maps[first]["one"]["data"] == {}
            hidden = (await held(opa, "core/Secret"))[first]["hidden"]
            assert set(hidden) == {"apiVersion", "kind", "metadata", "type"}
            assert first in (await held(opa, f"{RBAC}/ClusterRole"))["-"]
        async with running(start, control_plane, opa, tmp_path, environment, few):
            maps = await held(opa, "core/ConfigMap")
            assert {namespace: sorted(names) for namespace, names in maps.items()} == {second: ["one", "two"]}
            assert maps[second]["one"]["data"] == {"text": second}
            assert await held(opa, "core/Secret") == {}
            assert await held(opa, RBAC) == {}
            assert first in await held(opa, "core/Namespace/-")
    kept = await asyncio.to_thread(api.get, f"/api/v1/namespaces/{first}/configmaps/one")
    assert kept["data"] == {"text": first}


@pytest.mark.long
async def test_policy_kind_follows_the_schema_of_the_version_that_it_names(
    control_plane: ControlPlane,
    bridge_path: Path,
    opa_path: Path,
    environment: dict[str, str],
    tmp_path: Path,
    unused_tcp_port: int,
) -> None:
    api = control_plane.api
    group = f"{await make_namespace(api)}.example.com"
    wrapper = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"ratepolicies.{group}", "labels": {"gateway.networking.k8s.io/policy": "Inherited"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "ratepolicies", "kind": "RatePolicy"},
            "versions": [version("v1", overrides=wrapper), version("v1beta1", defaults=wrapper)],
        },
    }
    await apply_crd(api, body)
    start = (bridge_path, f"127.0.0.1:{unused_tcp_port}")
    config = opa_config(f"http://{start[1]}", shared_trust())
    async with ManagedOpa(opa_path, config) as managed, Opa(managed.url) as opa:
        for setting, read, path in (
            (f"- {group}/RatePolicy\n", "v1", "/spec/overrides"),
            (f"- {{type: {group}/RatePolicy, version: v1beta1}}\n", "v1beta1", "/spec/defaults"),
        ):
            async with running(start, control_plane, opa, tmp_path, environment, setting):
                kinds = await opa.get("kinds")
                assert kinds
                kind = kinds[f"{group}/RatePolicy"]
                assert kind["versions"] == {name: "Read" if name == read else "Unlike" for name in ("v1", "v1beta1")}
                assert kind["specPaths"][0]["path"] == path
