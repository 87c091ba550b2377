"""An OPA that holds the bridge's bundle takes modules of others beside it."""

import contextlib
import http.client
from pathlib import Path

import pytest

from bridge.files import rego_root
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped_bundle
from tests.e2e.conftest import ROOT

pytestmark = pytest.mark.long

EXTENSIONS = ROOT / "examples" / "extensions"


def put_module(url: str, name: str, module: bytes) -> int:
    """Put a module into an OPA; gives the HTTP status."""
    with contextlib.closing(http.client.HTTPConnection(url.removeprefix("http://"), timeout=180)) as connection:
        connection.request("PUT", f"/v1/policies/{name}", module)
        return connection.getresponse().status


async def test_the_examples_are_taken_and_what_the_bridge_owns_is_not(opa_path: Path) -> None:
    async with ManagedOpa(opa_path, {}, bundle=shipped_bundle(rego_root())) as opa:
        for path in sorted(EXTENSIONS.rglob("*.rego")):
            if not path.name.endswith("_test.rego"):
                assert put_module(opa.url, path.name, path.read_bytes()) == 200
        assert put_module(opa.url, "other.rego", b"package bridge.hierarchy\n") == 400
