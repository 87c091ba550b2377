"""Commands check the Rego of a folder as the bridge does: with the same settings, from the environment."""

import pytest

from bridge.offline.modules import settle_manifests
from tests.cluster import rego_config_map
from tests.integration.test_check_memory import dense_module

FETCHING = 'package a\n\nx := http.send({"method": "GET", "url": "http://127.0.0.1:1"})\n'


@pytest.mark.parametrize(
    ("text", "variable", "value", "problem"),
    [
        (FETCHING, "BRIDGE_ALLOWED_BUILTINS", "http.send", "undefined function http.send"),
        (dense_module("a", 100), "BRIDGE_CHECK_MEMORY_MIB", "1024", "the modules need more than 48 MiB of memory"),
    ],
    ids=["built-ins", "memory"],
)
async def test_settings_of_checks_apply_to_folders(
    text: str, variable: str, value: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = [rego_config_map("a", text)]
    refused = await settle_manifests(objects)
    ((found,),) = refused.problems.values()
    assert found.message.startswith(problem)
    monkeypatch.setenv(variable, value)
    accepted = await settle_manifests(objects)
    assert accepted.problems == {}
    assert [author.name for author in accepted.active] == ["a"]
