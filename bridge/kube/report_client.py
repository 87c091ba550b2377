"""Reports of violations on an API server: OpenReports' kinds where their CRDs are installed, else PolicyReport's.

A report of this bridge has the label `LABEL`, and annotations with the key of its object and a digest of its content.
"""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import structlog

from bridge.kube.kube_client import FIELD_MANAGER, KubeClient, read_pages
from bridge.kube.kube_errors import NotFound
from bridge.model.keys import CLUSTER
from bridge.model.types import ResourceType

log = structlog.get_logger(__name__)

SERVER_SIDE_APPLY = "application/apply-patch+yaml"
LABEL = ("app.kubernetes.io/managed-by", "policy-bridge")
OBJECT = "policybridge.io/object"  # annotation of a report: the key of its object
CONTENT = "policybridge.io/content"  # annotation: the digest of its content


class Form(NamedTuple):
    """The kinds of reports of one group: in a namespace, and about cluster-scoped objects."""

    namespaced: ResourceType
    cluster: ResourceType

    @property
    def group(self) -> str:
        """Return the API group."""
        return self.namespaced.group

    def kind_in(self, namespace: str) -> ResourceType:
        """Return the kind of reports about objects in a namespace, CLUSTER for cluster-scoped ones."""
        return self.cluster if namespace == CLUSTER else self.namespaced


def _form(group: str, version: str, kind: str, plural: str) -> Form:
    return Form(
        ResourceType(group, version, kind, plural, namespaced=True),
        ResourceType(group, version, f"Cluster{kind}", f"cluster{plural}", namespaced=False),
    )


# The preferred form first.
FORMS = (
    _form("openreports.io", "v1alpha1", "Report", "reports"),
    _form("wgpolicyk8s.io", "v1alpha2", "PolicyReport", "policyreports"),
)


class StoredReport(NamedTuple):
    """A report of this bridge on the API server. `path` is its URL path."""

    path: str
    object: str
    content: str


class ReportClient:
    """The reports of one API server. Methods raise KubeError."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._unusable: set[str] = set()  # groups whose CRDs cannot be used, which was logged

    async def served_forms(self) -> list[Form]:
        """Return the forms that the API server serves. CRDs of other versions, and incomplete ones, are logged once."""
        return [form for form in FORMS if await self._serves(form)]

    async def _serves(self, form: Form) -> bool:
        group, version = form.group, form.namespaced.version
        try:
            versions = [one["version"] for one in (await self._client.get(f"/apis/{group}"))["versions"]]
            if version not in versions:
                if self._is_news(group):
                    log.warning("report CRDs have another version", group=group, served=versions, needed=version)
                return False
            resources = (await self._client.get(f"/apis/{group}/{version}"))["resources"]
        except NotFound:
            return False
        if missing := {one.plural for one in form} - {one["name"] for one in resources}:
            if self._is_news(group):
                log.warning("report CRDs are incomplete", group=group, missing=sorted(missing))
            return False
        self._unusable.discard(group)
        return True

    def _is_news(self, group: str) -> bool:
        """Return whether a group was usable before, and note that it is not."""
        known = len(self._unusable)
        self._unusable.add(group)
        return len(self._unusable) > known

    async def stored(self, form: Form) -> list[StoredReport]:
        """Return the reports of this bridge in a form."""
        return [report for resource in form async for report in self._stored(resource)]

    async def _stored(self, resource: ResourceType) -> AsyncIterator[StoredReport]:
        async for page in read_pages(self._client, resource, labels="=".join(LABEL), only_metadata=True):
            for metadata in (item["metadata"] for item in page):
                annotations = metadata.get("annotations") or {}
                path = resource.object_path(metadata.get("namespace", ""), metadata["name"])
                yield StoredReport(path, annotations.get(OBJECT, ""), annotations.get(CONTENT, ""))

    async def apply(self, path: str, report: dict[str, Any]) -> None:
        """Create a report, or make it equal."""
        await self._client.patch(
            path, report, SERVER_SIDE_APPLY, params={"fieldManager": FIELD_MANAGER, "force": "true"}
        )

    async def delete(self, path: str) -> None:
        """Delete a report, unless it is gone."""
        try:
            await self._client.delete(path)
        except NotFound:
            return
