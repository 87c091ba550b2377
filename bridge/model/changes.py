"""The change stream that every source of objects speaks: a cluster and a folder of manifests alike.

    Listing(type) -> Upserted(type, objects)* -> Listed(type) -> (Upserted | Deleted)* -> Listing(type) ...

What a source has not upserted between a `Listing` and its `Listed` is gone. Both may be about one namespace only,
within the listing of the whole type or after it. `Trouble` says why a type (or a file) delivers nothing at present; the
type's next event ends it, and `Mended` ends one of a file. `Rejected` says that the source shows an object that the
bridge does not take; the next `Upserted` or `Deleted` of the object ends that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bridge.model.keys import Key

# A Kubernetes object as parsed JSON. Of one from a cluster, fields other than apiVersion, kind and metadata are JSON
# text (`msgspec.Raw`): nobody looks into them on their way to OPA.
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """A source begins to tell the whole present state of one type (`<group>/<Kind>`), in all namespaces or in one."""

    type_id: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Upserted:
    """Objects of one type that were created or changed, as they are now."""

    type_id: str
    objects: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Deleted:
    """One object that is gone."""

    type_id: str
    key: Key


@dataclass(frozen=True, slots=True)
class Rejected:
    """One object that the source shows and OPA must not hold, with the reason. `key` is the object's.

    `identity` has its apiVersion, kind and metadata. The name is empty where the object has none that can be read.
    """

    type_id: str
    key: Key
    identity: Object
    reason: str


@dataclass(frozen=True, slots=True)
class Listed:
    """The whole present state of one type has been told, in all namespaces or in one."""

    type_id: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a type (or a file of manifests) delivers nothing now, in one line that says what would mend it.

    `subject` is the type's id, or `file:line` of a manifest. `retried` tells whether the source goes on trying. With
    `unknown` nobody can say now what the type has (the API server is away), so it must not count as empty; with
    `absent` the API server does not serve the type, which is no trouble unless somebody wants it.
    """

    subject: str
    message: str
    retried: bool = True
    unknown: bool = False
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Mended:
    """What a `Trouble` about a file of manifests was about is no more. `subject` is the Trouble's."""

    subject: str


Change = Listing | Upserted | Deleted | Rejected | Listed | Trouble | Mended
