"""Permissions at an API server, in RBAC's terms."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Access:
    """Verbs on one resource: `plural` or `plural/status` of a group ("" for the core group), and their purpose.

    `namespace` empty: in all, or of a cluster-scoped type; `names` empty: on objects of any name.
    """

    namespace: str
    group: str
    resource: str
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    why: str = ""

    @property
    def what(self) -> str:
        """Return it in kubectl's form: `httproutes.gateway.networking.k8s.io/status`."""
        plural, slash, subresource = self.resource.partition("/")
        return f"{plural}.{self.group}".rstrip(".") + slash + subresource
