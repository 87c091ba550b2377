"""The bridge behind the site at this moment: it may be starting, and its OPA may lack objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bridge.http.request_guard import Refused
from bridge.kube.kube_client import KubeClient
from bridge.kube.object_details import ObjectDetails
from bridge.offline.engine import Engine, RunningEngines
from bridge.opa.client import Opa
from bridge.remediator.audit import Audited
from bridge.settings.model import Settings
from bridge.sidecar.program import Backing

_TROUBLES = 10  # types or files that cannot be read


class PresentBacking:
    """What the parts of the site need of it, from the first request on. `settings` are those of policies."""

    def __init__(self, settings: Settings) -> None:
        self._backing: Backing | None = None
        self._engines = RunningEngines(settings)

    def open(self, backing: Backing) -> None:
        """Note that OPA is running."""
        self._backing = backing

    def opa(self) -> Opa:
        """Return the OPA for the queries of readers. Raises Refused while there is none, or it lacks objects."""
        if self._backing is None:
            raise _not_ready("the bridge is starting: OPA is not available yet")
        if why := self._backing.replicator.lacking:
            raise _not_ready(why)
        return self._backing.readers

    def engine(self) -> Engine:
        """Return an engine on this OPA, with the manifests or the cluster of its objects. Raises Refused like `opa`."""
        engine = self._engines.on(self.opa())
        if self._backing and self._backing.manifests:
            return replace(engine, manifests=self._backing.manifests)
        return replace(engine, cluster=ObjectDetails(self.cluster)) if self.cluster else engine

    @property
    def cluster(self) -> KubeClient | None:
        """A client for the API server; None for a folder."""
        return self._backing.cluster if self._backing else None

    @property
    def audited(self) -> Audited | None:
        """The violations of Constraints; None while OPA is not running."""
        return self._backing.audited if self._backing else None

    @property
    def is_complete(self) -> bool:
        """Whether OPA has had every object."""
        return self._backing is not None and not self._backing.replicator.lacking

    def checks(self) -> Mapping[str, str]:
        """Return why the bridge is not ready, by name."""
        return self._backing.checks() if self._backing else {"bridge": "the bridge is starting"}

    def unreadable(self) -> Mapping[str, str]:
        """Return the first types and files that cannot be read, with the reason."""
        if self._backing is None:
            return {}
        troubles = self._backing.replicator.troubles
        return {subject: troubles[subject] for subject in sorted(troubles.serious)[:_TROUBLES]}


def _not_ready(why: str) -> Refused:
    return Refused(503, "NotReady", why, {"Retry-After": "1"})
