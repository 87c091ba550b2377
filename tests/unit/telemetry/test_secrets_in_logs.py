"""Nothing secret in logs, whatever goes wrong."""

import logging

import pytest
import structlog
from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage

from bridge.http.listeners import server_logger
from bridge.telemetry.logs import configure_logs

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
