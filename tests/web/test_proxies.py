"""States of fields in proxies on the page, of a bridge that knows their dumps."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.bridges import ROOT, Bridge
from tests.web.page import Opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

EXAMPLE = ROOT / "examples" / "proxies"
ROUTE = "gateway.networking.k8s.io/HTTPRoute/shop/cart"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A copy of the example's dump."""
    return Path(shutil.copy(EXAMPLE / "config_dump.json", tmp_path))


@pytest.fixture
def compared(dump: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bridge]:
    """A bridge on the example with a dump, and more."""
    folder = tmp_path / "manifests"
    folder.mkdir()
    shutil.copy(EXAMPLE / "objects.yaml", folder)
    bridge = Bridge(
        folder, tmp_path / "log", *(f"--config-dump={one}" for one in (dump, *getattr(request, "param", ())))
    )
    bridge.start()
    yield bridge
    bridge.stop()


async def test_fields_have_their_states_in_proxies(compared: Bridge, page: Opened) -> None:
    await page.go(f"{compared.url}#object={ROUTE}%23view")
    await page.shows("#details .fields thead", "Field Value From Proxy")
    await page.shows("#details .fields", "retry.numRetries 2 shop/view stale")
    await page.shows("#details .fields", "timeout.http.requestTimeout 15s shop/defaults verified")


async def test_dump_that_cannot_be_read_leaves_the_fields_of_the_page(
    compared: Bridge, dump: Path, page: Opened
) -> None:
    dump.write_text(json.dumps({"configs": []})[:-1])
    await page.go(f"{compared.url}#object={ROUTE}%23checkout")
    await page.shows("#details .fields", "timeout.http.requestTimeout 15s shop/defaults cannot be read")
    assert "config dump unreadable" in compared.log.read_text()


@pytest.mark.parametrize("compared", [("/nowhere/dump.json",)], indirect=True)
async def test_dump_that_cannot_be_read_leaves_the_states_in_the_others(compared: Bridge, page: Opened) -> None:
    await page.go(f"{compared.url}#object={ROUTE}%23view")
    await page.shows("#details .fields", "timeout.http.requestTimeout 15s shop/defaults verified; cannot be read")
    assert "cannot read /nowhere/dump.json" in compared.log.read_text()
