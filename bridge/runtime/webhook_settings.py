"""What the settings of the webhook mean, besides their types."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bridge.model.placement import decision_path

if TYPE_CHECKING:
    from bridge.runtime.settings import Settings

LONGEST_DEADLINE = 30.0  # seconds; the API server waits no longer for a webhook
_DATA = "/v1/data/"


def decision_of(settings: Settings) -> tuple[str, str]:
    """What the webhook asks of an object, as (URL of another OPA, path of the document); "" each where there is none.

    Raises ValueError for a setting that is neither a document nor a URL of OPA's data API.
    """
    text = settings.decision if settings.webhook_decision is None else settings.webhook_decision
    if not text:
        return "", ""
    if "://" not in text:
        return "", "/".join(decision_path(text))
    parts = urlsplit(text)
    before, data, path = parts.path.partition(_DATA)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not data or parts.query:
        raise ValueError(f"webhook_decision {text!r} is no URL of a decision: write https://HOST:PORT/v1/data/PATH")
    return f"{parts.scheme}://{parts.netloc}{before}", "/".join(decision_path(path))


def names_of(settings: Settings) -> tuple[str, ...]:
    """The names by which the API server calls the webhook: what its certificate must be for."""
    if settings.webhook_url:
        return (urlsplit(settings.webhook_url).hostname or "",)
    namespace, _, name = settings.webhook_service.partition("/")
    return (f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local")


def check_webhook(settings: Settings) -> None:
    """Refuse what no type can say. Raises ValueError."""
    decision_of(settings)
    if bool(settings.webhook_cert_file) != bool(settings.webhook_key_file):
        raise ValueError("webhook_cert_file and webhook_key_file go together")
    if settings.webhook_client_names and not settings.webhook_client_ca_file:
        raise ValueError("webhook_client_names needs webhook_client_ca_file, which verifies the certificates")
    if settings.webhook_connections < 1:
        raise ValueError("webhook_connections must be at least 1")
    if settings.webhook_connections_per_peer < 0:
        raise ValueError("webhook_connections_per_peer must be at least 0, which means no limit")
    if not 0 < settings.webhook_deadline <= LONGEST_DEADLINE:
        raise ValueError(f"webhook_deadline must be above 0 and at most {LONGEST_DEADLINE:g} seconds")
    if settings.webhook_url:
        parts = urlsplit(settings.webhook_url)
        if parts.scheme != "https" or not parts.hostname or not parts.path.endswith("/admission") or parts.query:
            raise ValueError(f"webhook_url {settings.webhook_url!r} is no https://HOST:PORT/admission")
    if settings.webhook_service.count("/") != 1 or not all(settings.webhook_service.split("/")):
        raise ValueError(f"webhook_service {settings.webhook_service!r} is no NAMESPACE/NAME")
