from typing import Any

from structlog.testing import capture_logs

from bridge.replicator.intake import Troubles


def logged(troubles: Troubles) -> list[dict[str, Any]]:
    with capture_logs() as logs:
        troubles.report()
    return [{name: value for name, value in entry.items() if name != "log_level"} for entry in logs]


async def test_types_with_one_reason_are_one_line_and_it_is_reported_once() -> None:
    troubles = Troubles()
    for _ in range(2):
        troubles.begins("core/Service", "broken", warning=True)
        troubles.begins("core/Namespace", "reset", warning=True)
        troubles.begins("core/Namespace", "broken", warning=True)
    line = {"event": "resources unavailable", "subjects": ["core/Namespace", "core/Service"], "why": "broken"}
    assert logged(troubles) == [line]
    troubles.begins("core/Service", "reset", warning=True)
    troubles.begins("core/Service", "broken", warning=True)
    assert logged(troubles) == []
    troubles.ends("core/Service")
    troubles.ends("core/Pod")
    assert logged(troubles) == [{"event": "resources available again", "subjects": ["core/Service"]}]
    assert troubles == {"core/Namespace": "broken"}


async def test_a_trouble_that_was_short_is_not_reported() -> None:
    troubles = Troubles()
    troubles.begins("core/Service", "broken", warning=True)
    troubles.ends("core/Service")
    assert logged(troubles) == []


async def test_types_without_installed_crds_are_one_line() -> None:
    troubles = Troubles()
    for type_id in ("a/B", "a/C"):
        message = f"the API server does not serve {type_id}: install the CRD that defines it"
        troubles.begins(type_id, message, warning=False)
    with capture_logs() as logs:
        troubles.report()
    assert [(entry["log_level"], entry["subjects"], entry["why"]) for entry in logs] == [
        ("info", ["a/B", "a/C"], "the API server does not serve it: install the CRD that defines it")
    ]
