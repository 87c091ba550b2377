import asyncio

import pytest

from bridge.opa.client import MOST_NAMES, OTHER, Requests, request_name
from bridge.opa.errors import OpaRejected, OpaUnavailable


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("POST", "/v1/data/bridge/v1/effective", "effective"),
        ("POST", "/v1/data/bridge/v1/admission?provenance=true", "admission"),
        ("POST", "/v1/data/io/k8s/federation/admission?provenance=true", "decision"),
        ("PATCH", "/v1/data", "write"),
        ("PUT", "/v1/data/kinds", "write"),
        ("POST", "/v1/query", "adhoc"),
        ("GET", "/v1/data/bridge_state", "document"),
        ("GET", "/health?bundles=true", "state"),
        ("GET", "/v1/status", "state"),
    ],
)
def test_a_request_is_named_by_its_question(method: str, path: str, name: str) -> None:
    assert request_name(method, path) == name


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (OpaRejected(500, "internal_error", "no"), "rejected"),
        (OpaUnavailable("away"), "unavailable"),
        (asyncio.CancelledError(), "abandoned"),
    ],
)
def test_a_failure_counts_as_a_request_and_by_its_kind(error: BaseException, failure: str) -> None:
    requests = Requests()
    with pytest.raises(type(error)), requests.measured("PATCH", "/v1/data"):
        raise error
    with requests.measured("PATCH", "/v1/data"):
        pass
    assert requests.errors == {("write", failure): 1}
    assert requests.seconds["write"].count == 2


def test_names_that_are_unknown_make_a_bounded_number_of_series() -> None:
    requests = Requests()
    for number in range(MOST_NAMES + 10):
        with requests.measured("POST", f"/v1/data/bridge/v1/made_up_{number}"):
            pass
    assert len(requests.seconds) == MOST_NAMES + 1
    assert requests.seconds[OTHER].count == 10
