"""Access reviews: the permissions of a user at an API server, without trying requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bridge.kube.client import KubeClient
from bridge.model.access import Access

_REVIEWS = "/apis/authorization.k8s.io/v1"
_AT_ONCE = 16  # questions
_SERVICE_ACCOUNT = "system:serviceaccount:"


async def lacking(client: KubeClient, wanted: Iterable[Access], user: str = "") -> list[Access]:
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
                    if not await _allowed(client, one, verb, name, user):
                        verbs.append(verb)
                        break
        return replace(one, verbs=tuple(verbs)) if verbs else None

    return [found for found in await asyncio.gather(*(missing(one) for one in wanted)) if found]


async def _allowed(client: KubeClient, access: Access, verb: str, name: str, user: str) -> bool:
    resource, _, subresource = access.resource.partition("/")
    attributes = {"verb": verb, "group": access.group, "resource": resource, "subresource": subresource}
    spec: dict[str, Any] = {"resourceAttributes": {**attributes, "namespace": access.namespace, "name": name}}
    kind = "SelfSubjectAccessReview"
    if user:
        kind = "SubjectAccessReview"
        spec |= {"user": user, "groups": _groups(user)}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    answer = await client.post(f"{_REVIEWS}/{kind.lower()}s", review)
    return bool(answer["status"]["allowed"])


def _groups(user: str) -> list[str]:
    """Return the groups that the API server derives from a user's name."""
    everybody = "system:authenticated"
    if not user.startswith(_SERVICE_ACCOUNT):
        return [everybody]
    namespace = user.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
    return ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", everybody]
