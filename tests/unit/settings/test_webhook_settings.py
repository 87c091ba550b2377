import pytest

from bridge.settings.loading import SettingsError, load_settings


@pytest.mark.parametrize(
    ("decision", "found"),
    [
        (None, ("", "io/k8s/federation/admission")),
        ("", ("", "")),
        ("data.acme.placement", ("", "acme/placement")),
        ("https://opa.infra:8181/v1/data/acme/placement", ("https://opa.infra:8181", "acme/placement")),
        ("http://opa/behind/v1/data/acme", ("http://opa/behind", "acme")),
    ],
)
def test_the_webhook_asks_the_common_decision_another_one_another_opa_or_none(
    decision: str | None, found: tuple[str, str]
) -> None:
    environ = {} if decision is None else {"BRIDGE_WEBHOOK_DECISION": decision}
    assert load_settings(None, {}, environ).admission_decision == found


def test_its_certificate_is_for_what_the_api_server_calls_it() -> None:
    service = load_settings(None, {"webhook_service": "infra/bridge"}, {})
    assert service.webhook_host_names == ("bridge.infra.svc", "bridge.infra.svc.cluster.local")
    url = load_settings(None, {"webhook_url": "https://10.0.0.7:8443/admission"}, {})
    assert url.webhook_host_names == ("10.0.0.7",)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"webhook_listen": "8443"}, "not HOST:PORT"),
        ({"webhook_cert_file": "a"}, "go together"),
        ({"webhook_deadline": 60}, "at most 30 seconds"),
        ({"webhook_deadline": -1}, "above 0"),
        ({"webhook_url": "http://x/admission"}, "is not https://HOST:PORT/admission"),
        ({"webhook_service": "bridge"}, "is not NAMESPACE/NAME"),
        ({"webhook_decision": "https://opa/v1/query"}, "is not a URL of a decision"),
        ({"webhook_decision": "a//b"}, "not a decision"),
    ],
)
def test_a_setting_that_is_invalid_is_refused(flags: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load_settings(None, flags, {})
