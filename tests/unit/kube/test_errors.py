import aiohttp
import pytest

from bridge.kube.client import translated
from bridge.kube.errors import (
    ApiError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    ServerError,
    Throttled,
    TimedOut,
    Unauthorized,
    Unreachable,
    api_error,
    status_error,
)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid),
        (401, Unauthorized),
        (403, Forbidden),
        (404, NotFound),
        (405, ApiError),
        (409, Conflict),
        (410, Expired),
        (422, Invalid),
        (429, Throttled),
        (500, ServerError),
        (503, ServerError),
    ],
)
def test_each_status_has_its_error(status: int, kind: type[ApiError]) -> None:
    body = b'{"kind": "Status", "reason": "Because", "message": "it is\\nso", "code": %d}' % status
    error = api_error(status, body)
    assert type(error) is kind
    assert str(error) == f"{status} Because: it is so"


def test_an_answer_of_a_proxy_is_an_error_too() -> None:
    error = api_error(502, b"<html>\n  bad gateway", "3")
    assert isinstance(error, ServerError)
    assert (error.message, error.retry_after) == ("<html> bad gateway", 3.0)


def test_a_long_message_is_cut_to_one_line() -> None:
    assert len(str(api_error(500, b"x" * 10_000))) < 400


def test_a_version_from_the_future_needs_a_new_list() -> None:
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    status = {"kind": "Status", "code": 504, "reason": "Timeout", "message": "…", "details": {"causes": causes}}
    assert isinstance(status_error(status), Expired)


def test_the_seconds_to_wait_come_from_the_status_too() -> None:
    assert status_error({"code": 429, "details": {"retryAfterSeconds": 1}}).retry_after == 1


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (TimeoutError(), TimedOut),
        (aiohttp.ServerTimeoutError(), TimedOut),
        (aiohttp.ServerDisconnectedError(), Unreachable),
        (aiohttp.ClientPayloadError("cut"), Unreachable),
        (ConnectionResetError(104, "reset"), Unreachable),
    ],
)
def test_the_librarys_error_is_the_cause(raised: Exception, kind: type[KubeError]) -> None:
    with pytest.raises(kind, match="https://server") as caught, translated("https://server"):
        raise raised
    assert caught.value.__cause__ is raised
