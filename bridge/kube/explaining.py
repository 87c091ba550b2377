"""Errors as a person needs them: what keeps a type from being read, and what would mend it."""

from __future__ import annotations

from bridge.kube.errors import (
    ConfigurationError,
    Forbidden,
    KubeError,
    ServerError,
    Throttled,
    Unauthorized,
    Unreachable,
    Untrusted,
)
from bridge.model.types import ResourceType


def explain_access(error: KubeError, origin: str) -> str:
    """One line: what keeps anything from being asked. `origin` says whose credentials we use."""
    if isinstance(error, Unauthorized):
        return f"the API server does not accept the credentials of {origin}: renew them"
    return str(error)


def is_starting(error: KubeError) -> bool:
    """Whether a type is not served yet whose CRD was made a moment ago."""
    return isinstance(error, Throttled) and "initializ" in error.message


def explain(error: KubeError, resource: ResourceType, origin: str) -> str:
    """One line: what keeps a type from being read, and what would mend it. `origin` says whose credentials we use."""
    served_as = resource.plural if resource.group == "core" else f"{resource.plural}.{resource.group}"
    match error:
        case Forbidden():
            return f"reading {served_as} is forbidden: grant the bridge get, list and watch on them ({error.message})"
        case Unauthorized():
            return explain_access(error, origin)
        case Untrusted():
            return f"{error}: check certificate-authority and client-certificate of {origin}"
        case Unreachable():
            return f"{error}: is the API server running, and its address in {origin} right?"
        case Throttled() if is_starting(error):
            return f"the API server does not serve it yet ({error.message}): it is asked again shortly"
        case Throttled():
            return f"the API server is asked too much ({error.message}): it is asked again later"
        case ServerError():
            return f"the API server fails ({error}): its log, and etcd's, say why"
        case ConfigurationError():
            return str(error)
        case _:
            return f"reading {served_as} failed: {error}"
