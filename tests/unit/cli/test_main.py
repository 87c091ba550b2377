"""What a person is reported when something goes wrong."""

from pathlib import Path

import pytest

from bridge.cli.main import one_line, run_command
from bridge.cli.source import read_input
from bridge.opa.errors import OpaUndefined
from bridge.queries.names import CommandError


def test_our_own_errors_speak_for_themselves_in_one_line() -> None:
    assert one_line(CommandError("give\n one")) == "give one"
    assert "check that the bridge's modules are loaded" in one_line(OpaUndefined("bridge/v1/types"))


def test_of_a_group_of_errors_the_first_is_reported() -> None:
    assert (
        one_line(ExceptionGroup("tasks", [ExceptionGroup("more", [CommandError("this")]), ValueError("x")])) == "this"
    )


def test_a_file_that_cannot_be_read_is_named() -> None:
    assert one_line(PermissionError(13, "Permission denied", "/secret")) == "/secret: Permission denied"


def test_an_unexpected_error_names_the_option_for_details() -> None:
    assert one_line(KeyError("x")) == "unexpected KeyError: 'x' (use --debug for the traceback)"


def test_a_group_without_a_command_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["admin", "config"]) == 0
    assert capsys.readouterr().out.startswith("Usage: pbctl admin config ")


def test_port_in_a_host_is_refused_with_the_options_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["request", "--host", "shop.example.com:443", "--manifests", str(tmp_path)]) == 2
    assert "write --host shop.example.com --port 443" in capsys.readouterr().err


@pytest.mark.parametrize("first", [["-n", "shop"], ["--namespace=shop"], ["-A", "-o", "json"]])
def test_options_may_precede_the_command(first: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([*first, "get", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: pbctl get ")


def test_a_folder_in_place_of_a_target_is_named_with_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "BRIDGE_OPA_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run_command(["effective", str(tmp_path)]) == 2
    assert f"; did you mean --manifests {tmp_path}?" in capsys.readouterr().err
    assert run_command(["effective", "httproute/cart"]) == 2
    assert "did you mean" not in capsys.readouterr().err


def test_manifests_go_before_the_environments_opa(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRIDGE_OPA_URL", "http://opa:8181")
    assert read_input(None, None, ("shop",)).opa_url is None
    assert read_input(None, None, ()).opa_url == "http://opa:8181"


def test_a_token_is_read_without_its_line_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text("secret\n")
    assert read_input("http://opa:8181", str(file), ()).token == "secret"
