import aiohttp
import pytest

from bridge.kube.kube_client import translated
from bridge.kube.kube_errors import (
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
    explain,
    status_error,
)
from bridge.model.types import ResourceType


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


def test_types_that_are_forbidden_in_the_same_way_have_one_explanation() -> None:
    def explained(group: str, in_url: str, kind: str, plural: str) -> str:
        name = f"{plural}.{in_url}" if in_url else plural
        refusal = f'User "dev" cannot list resource "{plural}" in API group "{in_url}" at the cluster scope'
        resource = ResourceType(group, "v1", kind, plural, namespaced=True)
        return explain(Forbidden(403, "Forbidden", f"{name} is forbidden: {refusal}"), resource, "kubeconfig")

    services = explained("core", "", "Service", "services")
    assert services == (
        "reading them is forbidden: grant the bridge get, list and watch on them "
        '(User "dev" cannot list them at the cluster scope)'
    )
    routes = explained("gateway.networking.k8s.io", "gateway.networking.k8s.io", "HTTPRoute", "httproutes")
    assert routes == services
