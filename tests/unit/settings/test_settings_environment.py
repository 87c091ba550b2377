"""Variables of the environment that look like settings."""

import re
from pathlib import Path

import pytest
import structlog

from bridge.settings.loading import load, of_a_service, unknown_variables, warn_of_variables
from bridge.settings.model import PREFIX, SETTINGS, Settings

ROOT = Path(__file__).parents[3]
ADDRESS = "10.96.0.7"
# As a kubelet makes them for a Service with the ports `opa` and 9090.
SERVICE = {
    "_SERVICE_HOST": ADDRESS,
    "_SERVICE_PORT": "8181",
    "_SERVICE_PORT_OPA": "8181",
    "_PORT": f"tcp://{ADDRESS}:8181",
    "_PORT_8181_TCP": f"tcp://{ADDRESS}:8181",
    "_PORT_8181_TCP_PROTO": "tcp",
    "_PORT_8181_TCP_PORT": "8181",
    "_PORT_8181_TCP_ADDR": ADDRESS,
    "_PORT_9090_UDP": f"udp://{ADDRESS}:9090",
}


@pytest.mark.parametrize(
    ("variable", "near"),
    [
        ("BRIDGE_PROBE_LISTNE", "BRIDGE_PROBE_LISTEN"),
        ("BRIDGE_LOGLEVEL", "BRIDGE_LOG_LEVEL"),
        ("BRIDGE_CACH", "BRIDGE_CACHE"),
        ("BRIDGE_OPA_PROT", "BRIDGE_OPA_PORT"),
        ("BRIDGE_ZZZ", ""),
    ],
)
def test_a_variable_that_is_not_a_setting_is_reported_with_a_near_one(variable: str, near: str) -> None:
    (unknown,) = unknown_variables({variable: "1", "HOME": "/", "BRIDGE_LISTEN": "127.0.0.1:1"})
    assert unknown == (variable, near)
    assert variable in str(unknown)
    assert (f"did you mean {near}?" in str(unknown)) == bool(near)


def test_each_is_logged_once() -> None:
    with structlog.testing.capture_logs() as logs:
        warn_of_variables({"BRIDGE_LISTNE": "secret"})
    (line,) = logs
    assert (line["log_level"], line["variable"], line["near"]) == ("warning", "BRIDGE_LISTNE", "BRIDGE_LISTEN")
    assert "secret" not in str(line)


@pytest.mark.parametrize("service", ["BRIDGE", "BRIDGE_OPA", "BRIDGE_ADMISSION_V2"])
def test_conditions_by_kubernetes_of_a_service_are_neither_reported_nor_taken(service: str) -> None:
    environ = {service + name: value for name, value in SERVICE.items()}
    assert list(unknown_variables(environ)) == []
    assert load(environ=environ).settings == Settings()


def test_no_setting_looks_like_a_service() -> None:
    assert not [name for name in SETTINGS if of_a_service(PREFIX + name.upper(), "8181")]


def test_a_port_that_is_not_a_url_is_reported() -> None:
    assert [one.variable for one in unknown_variables({"BRIDGE_PORT": "8181"})] == ["BRIDGE_PORT"]


def test_no_variable_that_the_documentation_names_is_reported() -> None:
    files = [ROOT / "README.md", ROOT / "Containerfile", *(ROOT / "docs").rglob("*.md")]
    texts = [file.read_text() for file in files if file.parent.name != "decisions"]  # where Kubernetes' own are named
    named = {name for text in texts for name in re.findall(r"\bBRIDGE_[A-Z_]*[A-Z]\b", text)}
    assert {"BRIDGE_OPA", "BRIDGE_CACHE", "BRIDGE_DOWNLOADS", "BRIDGE_TYPES"} <= named
    assert [one.variable for one in unknown_variables(dict.fromkeys(named, "1"))] == ["BRIDGE_PROBE_LISTNE"]
