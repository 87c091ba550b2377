"""Lines of the log: of bounded length, without secrets, and of libraries too."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage

from bridge.http.listeners import server_logger
from bridge.model.keys import Key
from bridge.telemetry.logs import AGAIN, LONGEST, MOST_ITEMS, configure_logs


@pytest.fixture(autouse=True)
def _standard_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_long_lists_and_texts_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "json")
    subjects = [f"example.com/Kind{number}" for number in range(MOST_ITEMS + 5)]
    structlog.get_logger().info("resources unavailable", subjects=subjects, why="x" * (2 * LONGEST))
    (line,) = lines(capsys)
    assert line["subjects"] == [*subjects[:MOST_ITEMS], "and 5 more"]
    assert len(line["why"]) == LONGEST


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_key_is_its_text(capsys: pytest.CaptureFixture[str], form: str) -> None:
    configure_logs("info", form)
    key = Key("core", "Service", "shop", "cart", "http")
    structlog.get_logger().info("waits", object=key, objects=[key, key.object], by={"last": key})
    said = capsys.readouterr().err
    assert said.count("core/Service/shop/cart#http") == 3
    assert said.count("core/Service/shop/cart") == 4
    assert '"cart"' not in said
    assert "'cart'" not in said


@pytest.mark.parametrize("form", ["json", "console"])
def test_text_of_clients_controls_no_terminal(capsys: pytest.CaptureFixture[str], form: str) -> None:
    configure_logs("info", form)
    hostile = "a\x1b]0;owned\x07\x9b2J\u202eb\r\nfake line"
    structlog.get_logger().info(hostile, path=hostile, names=[hostile], by={hostile: hostile})
    logging.getLogger("library").warning(hostile)
    try:
        raise ValueError(hostile)  # noqa: TRY301 - its message is what is tested
    except ValueError:
        structlog.get_logger().exception("failed")
    said = capsys.readouterr().err
    assert "owned" in said
    assert [character for character in said if not character.isprintable() and character != "\n"] == []
    assert not any(line.startswith("fake line") for line in said.splitlines())


def test_a_password_in_an_address_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "json")
    urls = ["https://admin:hunter2@opa:8181/v1"]
    structlog.get_logger().info("running", opa=urls[0], all=urls)
    (line,) = lines(capsys)
    assert (line["opa"], line["all"]) == ("https://…@opa:8181/v1", ["https://…@opa:8181/v1"])


def test_logs_of_a_library_go_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "json")
    logging.getLogger("aiohttp.server").error("Error handling %s", "request")
    logging.getLogger("aiohttp.access").info("GET /")
    (line,) = lines(capsys)
    assert (line["event"], line["level"], line["library"]) == ("Error handling request", "error", "aiohttp.server")


def test_problems_below_the_level_are_not_reported(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("error", "json")
    structlog.get_logger().warning("a warning")
    logging.getLogger("asyncio").warning("slow")
    assert lines(capsys) == []


def test_waiting_for_the_same_reason_is_reported_once_a_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("bridge.telemetry.logs.time.monotonic", lambda: clock[0])
    configure_logs("info", "json")
    log = structlog.get_logger()
    for why in ("OPA is unavailable", "OPA is unavailable", "OPA rejected the query"):
        log.info("statuses waiting for OPA", why=why)
    clock[0] = AGAIN
    log.info("statuses waiting for OPA", why="OPA is unavailable")
    for _ in range(2):
        log.warning("OPA resync required", why="it was restarted")
        log.info("placed", object="a")
    assert [line.get("why") for line in lines(capsys)] == [
        "OPA is unavailable",
        "OPA rejected the query",
        "OPA is unavailable",
        *("it was restarted", None) * 2,
    ]


TOKEN = "token-of-the-bridge-itself"


def _fail(token: str) -> None:
    assert token
    raise RuntimeError("something else")


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_traceback_shows_no_local_variables(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", form)
    try:
        _fail(TOKEN)
    except RuntimeError as error:
        structlog.get_logger().error("it failed", exc_info=error)
    said = capsys.readouterr().err
    assert "something else" in said
    assert "_fail" in said
    assert TOKEN not in said


def test_bytes_that_are_not_http_are_not_our_error(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "json")
    logger = server_logger()
    for error in (BadHttpMessage("no HTTP"), web.RequestPayloadError("no gzip"), ConnectionResetError("gone")):
        logger.log(logging.ERROR, "Error handling request", exc_info=error)
    assert capsys.readouterr().err == ""
    logger.error("Error handling request", exc_info=KeyError("ours"))
    assert "request failed unexpectedly" in capsys.readouterr().err
