"""The API server shows a client certificate, set up exactly as docs/how-to/secure-an-installation.md describes."""

import asyncio
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.controlplane.plane import ControlPlane
from tests.eventually import eventually
from tests.integration.api_objects import make_namespace
from tests.integration.webhook import AtWork, webhook_at_work
from tests.ports import free_port

pytestmark = pytest.mark.long

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "secure-an-installation.md"
FOLDER = "/etc/kubernetes/policy-bridge"
HOST = "policy-bridge.policy-bridge.svc"


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def _follow(folder: Path, port: int) -> str:
    """Do what the page says for the API server: its flag."""
    subprocess.run(["sh", "-ec", "\n".join(_blocks("sh"))], cwd=folder, check=True, capture_output=True)
    for block in _blocks("yaml"):
        if found := re.match(rf"# {FOLDER}/(\S+)\n", block):
            text = block.replace(FOLDER, str(folder)).replace(HOST, f"127.0.0.1:{port}")
            (folder / found[1]).write_text(text)
    flag = re.search(r"^    (--admission-control-config-file=\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert flag
    return flag[1].replace(FOLDER, str(folder))


def _settings(folder: Path) -> dict[str, Any]:
    """The settings that the page gives for the bridge."""
    (block,) = (block for block in _blocks("yaml") if "webhook_client_ca_file" in block)
    (names,) = re.findall(r"^webhook_client_names: \[(.*)\]$", block, re.MULTILINE)
    return {"webhook_client_ca_file": str(folder / "clients-ca.crt"), "webhook_client_names": names.split(", ")}


def _refusals(logs: list[Any]) -> list[tuple[str, str]]:
    return [(line["event"], line.get("why", "")) for line in logs]


async def _until_placed(work: AtWork) -> None:
    await eventually(lambda: work.make({"region": "eu"}), lambda made: "annotations" in made["metadata"], pause=0.2)


async def test_api_server_set_up_as_the_page_says_is_accepted_and_another_one_is_refused(
    own_control_plane: ControlPlane, opa_path: Path, kubectl_path: Path, tmp_path: Path
) -> None:
    plane, port = own_control_plane, free_port()
    folder = tmp_path / "policy-bridge"
    folder.mkdir()
    flag = _follow(folder, port)
    namespace = await make_namespace(plane.api)
    settings = _settings(folder)
    async with webhook_at_work(plane, opa_path, kubectl_path, namespace, port=port, **settings) as work:
        await work.until("Fail")
        with capture_logs() as logs:
            async with asyncio.timeout(300):
                while ("client certificate refused", "the client sent no certificate") not in _refusals(logs):
                    code, said = await work.apply("refused", {"region": "eu"})
        assert (code, "failed calling webhook" in said) == (1, True)
        assert work.facts.events == []

        plane.flags = (*plane.flags, flag)
        await asyncio.to_thread(plane.restart_api_server)
        await _until_placed(work)
        await work.stop_opa()
        code, said = await work.apply("undecided", {"region": "eu"})
        assert (code, "no decision could be made" in said) == (1, True)
        assert [name for name, _, _ in work.facts.events] == ["undecided"]
