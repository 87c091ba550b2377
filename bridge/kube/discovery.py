"""The types that an API server serves, their preferred versions, and the permissions of a user there."""

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bridge.kube.kube_client import JSON, KubeClient
from bridge.kube.kube_errors import Garbled, KubeError, NotFound, ServerError, Unreachable
from bridge.model.keys import CORE
from bridge.model.types import Access, ResourceType

_AGGREGATED = ",".join(
    [
        f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        f"{JSON};g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",  # before Kubernetes 1.30
    ]
)
_NEEDED_VERBS = frozenset({"list", "watch"})
_READY_TIMEOUT = 5.0  # seconds
_LONGEST_START = 60.0  # seconds that an API server may need until it is ready
_NONE: Mapping[str, str] = {}


class Discovery:
    """The types that can be listed and watched, as of the last `refresh`.

    `versions` are the required versions by the type's id; for other types the preferred one is used.
    """

    def __init__(self, client: KubeClient, versions: Mapping[str, str] | None = None) -> None:
        self._client = client
        self._versions = versions or {}
        self.types: Mapping[str, ResourceType] = {}  # every served type by its id, each in its preferred version
        # Groups that did not respond (an aggregated API server is unavailable): their types are unknown.
        self.unknown_groups: frozenset[str] = frozenset()
        self._unready_since = 0.0  # 0: it was ready at the last check

    async def is_complete(self) -> bool:
        """Return whether types that a `refresh` from now on does not find are missing.

        A starting API server responds before it knows its CRDs, and is not ready meanwhile. One that forbids this
        check, or is unready for long, is trusted.
        """
        try:
            await self._client.request("GET", "/readyz", accept="*/*", timeout=_READY_TIMEOUT)
        except (ServerError, Unreachable):
            now = time.monotonic()
            self._unready_since = self._unready_since or now
            return now - self._unready_since > _LONGEST_START
        except KubeError:
            pass
        self._unready_since = 0.0
        return True

    async def refresh(self) -> None:
        """Query discovery again. Raises KubeError, and then nothing has changed."""
        types: dict[str, ResourceType] = {}
        unknown: set[str] = set()
        for root in ("/api", "/apis"):
            answer = await self._client.get(root, accept=_AGGREGATED)
            try:
                found, stale = read_aggregated(answer, self._versions)
            except (KeyError, TypeError, AttributeError) as error:
                raise Garbled(f"the answer to {root} is not that of Kubernetes 1.27 or newer") from error
            types |= found
            unknown |= stale
        self.types, self.unknown_groups = types, frozenset(unknown)


def read_aggregated(
    answer: Mapping[str, Any], versions: Mapping[str, str] = _NONE
) -> tuple[dict[str, ResourceType], set[str]]:
    """Return the types of an APIGroupDiscoveryList, and its incomplete groups.

    Its versions are in the order of preference, so the first that has a kind is used, or the one in `versions`.
    """
    types: dict[str, ResourceType] = {}
    stale: set[str] = set()
    for group in answer["items"]:
        name = group.get("metadata", {}).get("name") or CORE
        for version in group["versions"]:
            if version.get("freshness") == "Stale":
                stale.add(name)
            for resource in version.get("resources") or ():
                kind = resource.get("responseKind", {}).get("kind")
                if kind and set(resource.get("verbs") or ()) >= _NEEDED_VERBS:
                    namespaced = resource["scope"] == "Namespaced"
                    found = ResourceType(name, version["version"], kind, resource["resource"], namespaced)
                    if versions.get(found.id, found.version) == found.version:
                        types.setdefault(found.id, found)
    return types, stale


_REVIEWS = "/apis/authorization.k8s.io/v1"
_AT_ONCE = 16  # questions
_SERVICE_ACCOUNT = "system:serviceaccount:"


async def serves_group(client: KubeClient, group: str, timeout: float) -> bool:
    """Return whether the API server serves a group other than the core; `timeout` is in seconds."""
    try:
        await client.get(f"/apis/{group}", timeout=timeout)
    except NotFound:
        return False
    return True


async def find_missing_access(client: KubeClient, wanted: Iterable[Access], user: str = "") -> list[Access]:
    """Return the wanted permissions that the bridge, or `user`, lacks: each with the missing verbs.

    A `user` has RBAC's form, `system:serviceaccount:NAMESPACE:NAME` for a ServiceAccount; a check for another user
    needs the permission to create subjectaccessreviews. Raises KubeError.
    """
    room = asyncio.Semaphore(_AT_ONCE)

    async def missing(one: Access) -> Access | None:
        verbs = []
        for verb in one.verbs:
            for name in one.names or ("",):
                async with room:
                    if not await _is_allowed(client, one, verb, name, user):
                        verbs.append(verb)
                        break
        return replace(one, verbs=tuple(verbs)) if verbs else None

    return [found for found in await asyncio.gather(*(missing(one) for one in wanted)) if found]


async def _is_allowed(client: KubeClient, access: Access, verb: str, name: str, user: str) -> bool:
    resource, _, subresource = access.resource.partition("/")
    attributes = {"verb": verb, "group": access.group, "resource": resource, "subresource": subresource}
    spec: dict[str, Any] = {"resourceAttributes": {**attributes, "namespace": access.namespace, "name": name}}
    kind = "SelfSubjectAccessReview"
    if user:
        kind = "SubjectAccessReview"
        spec |= {"user": user, "groups": _derive_groups(user)}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    answer = await client.post(f"{_REVIEWS}/{kind.lower()}s", review)
    return bool(answer["status"]["allowed"])


def _derive_groups(user: str) -> list[str]:
    """Return the groups that the API server derives from a user's name."""
    everybody = "system:authenticated"
    if not user.startswith(_SERVICE_ACCOUNT):
        return [everybody]
    namespace = user.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
    return ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", everybody]
