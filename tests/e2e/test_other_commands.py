"""Help, version, `pbctl admin opa-config`, `pbctl doctor`, and Ctrl-C."""

import asyncio
import fcntl
import json
import os
import platform
import re
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import click
import pytest
import yaml

from bridge import __version__
from bridge.cli.main import admin, run_command
from bridge.cli.main import pbctl as commands
from bridge.files import rego_root
from bridge.http.listeners import checked_web_token
from bridge.opa.bundle import build_view_bundle, opa_config
from bridge.opa.shipped import shipped_bundle
from bridge.policy_loader.reporter import utc_now
from tests.bundle_trust import shared_trust
from tests.controlplane.plane import LIMITED_TOKEN, ControlPlane
from tests.e2e.conftest import ROOT, Run
from tests.eventually import eventually_blocking
from tests.warm_opa import WarmOpa

COMMANDS = commands.list_commands(click.Context(commands))
ADMIN = admin.list_commands(click.Context(admin))
FIRST = {"effective", "explain", "request", "problems", "analyze", "get", "graph", "run", "doctor"}


def test_it_tells_its_version(bridge: Run) -> None:
    own, rego, python, opa = bridge("--version").stdout.splitlines()
    assert own == f"pbctl {__version__}"
    assert re.fullmatch(r"rego [0-9a-f]{12,} \(/.*\)", rego)
    assert python.startswith(f"python {platform.python_version()} (")
    assert re.match(r"opa \d+\.\d+\.\d+ \(/", opa)


def _listed(text: str) -> list[str]:
    below = text.split("\nFind out:\n")[1]
    return [line.split()[0] for line in below.splitlines() if re.match(r"  \S", line)]


def test_help_lists_nine_commands_and_names_the_others(bridge: Run) -> None:
    answer = bridge()
    assert (answer.returncode, answer.stdout) == (0, bridge("--help").stdout)
    shown = _listed(answer.stdout)
    assert set(shown) == FIRST
    others = " ".join(answer.stdout.split("\nMore: ")[1].split())
    assert others.startswith(", ".join(COMMANDS[len(shown) :]))


def test_help_of_all_lists_every_command(bridge: Run) -> None:
    assert _listed(bridge("help", "--all").stdout) == [*COMMANDS, *ADMIN]


@pytest.mark.parametrize("name", [*ADMIN, "impact", "violations", "diff"])
def test_former_names_work_without_being_listed(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run_command([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: pbctl {name} ")
    assert name not in COMMANDS


def test_source_options_are_explained_by_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert run_command([name, "--help"]) == 0
        said = capsys.readouterr().out
        assert "for standard input" not in said or name in {"analyze", "run"}
        assert ("`pbctl options` explains it" in said) == ("--manifests PATH, --kubeconfig" in " ".join(said.split()))
    assert run_command(["options"]) == 0
    said = capsys.readouterr().out
    assert {word for word in said.split() if word.startswith("--")} == {
        *("--opa", "--opa-token-file", "--manifests", "--kubeconfig", "--context", "--cluster", "--all-clusters")
    }


@pytest.mark.parametrize("arguments", [["effective"], ["config", "show"], []])
def test_help_of_a_command_is_asked_for_as_with_kubectl(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run_command(["help", *arguments]) == 0
    by_word = capsys.readouterr().out
    assert run_command([*arguments, "--help"]) == 0
    assert by_word == capsys.readouterr().out


@pytest.mark.parametrize("name", ["pbctl", "kubectl bridge"])
@pytest.mark.parametrize("command", [*COMMANDS, *(f"admin {name}" for name in ADMIN)])
def test_help_has_examples_with_the_name_that_was_called(
    capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    assert run_command([*command.split(), "--help"], name) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Usage: {name} {command} ")
    assert f"  {name} {'problems' if command == 'options' else command}" in said.partition("Examples:\n")[2]


def test_plugin_of_kubectl_shows_its_own_name(bridge_path: Path, environment: dict[str, str]) -> None:
    command = [str(bridge_path.with_name("kubectl-bridge")), "effective", "-h"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert said.startswith("Usage: kubectl bridge effective ")


def test_an_opa_accepts_the_printed_configuration(bridge: Run) -> None:
    said = bridge("opa-config", "--bridge-url", "http://bridge:1234").stdout
    trust = shared_trust()
    assert yaml.safe_load(said) == opa_config("http://bridge:1234", trust)
    assert json.loads(bridge("opa-config", "-o", "json").stdout) == opa_config("http://127.0.0.1:8282", trust)


def test_opa_config_names_the_credentials_of_a_folder_and_makes_them(bridge: Run, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "credentials"
    said = yaml.safe_load(bridge("opa-config", "--bundle-credentials", folder).stdout)
    assert said["services"]["bridge"]["credentials"] == {"bearer": {"token_path": str(folder / "token")}}
    assert said["keys"]["policy-bridge"]["key"] == (folder / "verification-key.pem").read_text()
    assert {file.name: file.stat().st_mode & 0o777 for file in (folder / "token", folder / "signing-key.pem")} == {
        "token": 0o600,
        "signing-key.pem": 0o600,
    }
    again = bridge("credentials", folder)
    assert again.returncode == 0
    assert yaml.safe_load(bridge("opa-config", "--bundle-credentials", folder).stdout) == said


def test_a_token_is_another_one_each_time_and_good_for_the_page(bridge: Run) -> None:
    first, second = (bridge("token").stdout for _ in range(2))
    assert first != second
    assert checked_web_token(first) == first.strip()


def test_fleet_status_names_the_error_of_a_token_or_an_address(bridge: Run, opa_path: Path, tmp_path: Path) -> None:
    asked = ("fleet", "status", "--publish-credentials", tmp_path)
    for token, problem in ((None, "No such file"), ("a\nb", "at least 16 characters"), ("a b" * 9, "without spaces")):
        if token:
            (tmp_path / "token").write_text(token)
        answer = bridge(*asked)
        assert answer.returncode == 2
        assert re.fullmatch(f"error: .*/token: .*{problem}.*--publish-credentials\n", answer.stderr), answer.stderr
    (tmp_path / "token").write_text("t" * 16)

    async def ask_another_server() -> str:
        async with WarmOpa(opa_path) as other:
            return await asyncio.to_thread(lambda: bridge(*asked, "--bridge-url", other.url).stderr)

    assert "does not respond like a bridge's address of views" in asyncio.run(ask_another_server())


def test_opa_for_clusters_without_any_is_an_error(bridge: Run, opa_path: Path) -> None:
    bundle = build_view_bundle(shipped_bundle(rego_root()), {}, "federation", utc_now())

    async def read_all() -> list[str]:
        async with WarmOpa(opa_path, bundle=bundle) as opa:
            chosen = (["--all-clusters"], ["--cluster", "east"])
            return [(await asyncio.to_thread(bridge, "effective", "--opa", opa.url, *some)).stderr for some in chosen]

    for error in asyncio.run(read_all()):
        assert "has no data of clusters: see the view federation" in error


def test_doctor_is_content_where_opa_is_there(bridge: Run, opa_path: Path) -> None:
    answer = bridge("doctor", "-o", "json")
    assert answer.returncode == 0
    checks = {check["name"]: check for check in json.loads(answer.stdout)}
    assert str(opa_path) in checks["opa"]["found"]
    assert checks["opa server"]["state"] == "unchecked"
    assert {"python", "disk", "opa", "api server"} <= checks.keys()


def test_doctor_lists_missing_parts_and_the_fix(bridge: Run, environment: dict[str, str], tmp_path: Path) -> None:
    empty = {"PATH": str(tmp_path), "BRIDGE_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    answer = bridge("doctor", more=empty)
    assert answer.returncode == 1
    looked_at, fixes = answer.stdout.split("\n\n")
    assert any(line.split()[:2] == ["opa", "missing"] for line in looked_at.splitlines())
    assert any(
        line.split()[0] == "opa" and line.endswith("-m bridge.opa.executable install") for line in fixes.splitlines()
    )


def test_doctor_names_an_opa_and_a_cluster_that_do_not_answer(bridge: Run, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [cluster],
                "contexts": [context],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "current-context": "x",
            }
        )
    )
    answer = bridge("doctor", "--opa", "http://127.0.0.1:1", "--kubeconfig", kubeconfig, "-o", "json")
    assert answer.returncode == 1
    checks = {check["name"]: check for check in json.loads(answer.stdout)}
    for name in ("opa server", "api server"):
        assert checks[name]["state"] == "missing"
        assert "http://127.0.0.1:1" in checks[name]["found"]
        assert checks[name]["fix"]


def test_doctor_knows_a_cluster_with_gateway_api(bridge: Run, control_plane: ControlPlane) -> None:
    answer = bridge("doctor", "--kubeconfig", control_plane.kubeconfig, "-o", "json")
    (check,) = (check for check in json.loads(answer.stdout) if check["name"] == "api server")
    assert check["state"] == "ok"
    assert check["found"].startswith(control_plane.url)
    assert check["found"].endswith("with Gateway API")


def test_doctor_lists_unreadable_types_of_a_cluster(bridge: Run, control_plane: ControlPlane, tmp_path: Path) -> None:
    limited = control_plane.write_kubeconfig(tmp_path / "limited", LIMITED_TOKEN)
    answer = bridge("doctor", "--kubeconfig", limited, "-o", "json")
    (check,) = (check for check in json.loads(answer.stdout) if check["name"] == "api server")
    assert (answer.returncode, check["state"]) == (1, "missing")
    groups = check["found"].partition("no permission to list ")[2].split("; ")
    assert any("services" in names.split(", ") for names in groups if "(" not in names)
    assert any("gateways" in names.split(", ") for names in groups if names.endswith(" (gateway.networking.k8s.io)"))
    assert "--cluster --reader" in check["fix"]


@pytest.mark.parametrize("command", [["opa-config"], ["doctor"]])
def test_they_import_no_kubernetes(environment: dict[str, str], command: list[str], tmp_path: Path) -> None:
    program = (
        "import sys; from bridge.cli.main import run_command;"
        "run_command(sys.argv[1:]); sys.exit('kubernetes' in sys.modules)"
    )
    nowhere = {**environment, "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program, *command], env=nowhere, capture_output=True, check=True)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_a_command_silently(bridge_path: Path, environment: dict[str, str]) -> None:
    """It waits for manifests on standard input, which never end."""
    reading, writing = os.pipe()
    os.write(writing, b"\n")
    with subprocess.Popen(
        [bridge_path, "effective", "--manifests", "-"],
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        eventually_blocking(lambda: process.poll() is not None or not _unread(reading))
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        try:
            said = process.communicate(timeout=180)
        finally:
            process.kill()
            os.close(reading)
            os.close(writing)
    assert (process.returncode, said) == (130, ("", ""))


def _unread(pipe: int) -> int:
    """How many bytes a pipe has that no process has read."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_placement_without_settings_warns_that_the_decision_may_lack_data(bridge: Run) -> None:
    answer = bridge("placement", "--manifests", ROOT / "examples" / "placement", "--kind", "apps/Deployment")
    assert answer.stderr.startswith("warning: only the kinds to place and Gateway API's are read")
    settings = ROOT / "examples" / "placement-settings.yaml"
    answer = bridge("placement", "--manifests", ROOT / "examples" / "placement", "--config", settings)
    assert (answer.returncode, answer.stderr) == (0, "")
