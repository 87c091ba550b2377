"""Views: the parts of a cluster that bundles for other OPAs have."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bridge.model.keys import CLUSTER, Key
from bridge.model.types import GATEWAY_API

ALL = "all"  # the view that has everything, and its name
FEDERATION = "federation"  # the view without data, whose Rego reads those of several clusters
OF_CLUSTER = "cluster"  # the view with all data of a cluster, for an OPA that has several
EFFECTIVE = "effective"  # the content of a view with precomputed answers
FORMS = "all, GatewayClass/NAME, Gateway/NAMESPACE/NAME (both also with =effective), cluster, or federation"
_CLUSTER_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")  # as of an object in Kubernetes, and so of a Gateway


@dataclass(frozen=True, slots=True)
class View:
    """A view: its name, which is in its URL, and what it has.

    It has `root`, a Gateway or a GatewayClass, with what is above and below it; or the same of the Namespaces that the
    label selector `namespaces` selects; or everything without either. It also has all objects of `types`. With
    `cluster` its documents are of that one among several, without Rego. With `has_answers` its bundle has precomputed
    answers about these objects instead of the objects. Raises ValueError for an invalid name.
    """

    name: str
    root: Key | None = None
    namespaces: Mapping[str, Any] | None = None
    types: tuple[str, ...] = ()
    cluster: str = ""
    has_answers: bool = False

    def __post_init__(self) -> None:
        """Reject a name that would need escaping in a URL."""
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"publish: {self.name!r} is not a name of a view: write lowercase letters, digits, - and . "
                "(at most 253 characters)"
            )

    @property
    def is_whole(self) -> bool:
        """Return whether it has everything."""
        return self.root is None and self.namespaces is None

    @property
    def has_data(self) -> bool:
        """Return whether it has any data, and not only Rego."""
        return not (self.is_whole and self.name == FEDERATION)

    @property
    def selection(self) -> str:
        """Return what it selects, for messages."""
        if self.root is None:
            return "everything" if self.is_whole else "Namespace with these labels"
        namespace = "" if self.root.namespace == CLUSTER else f"{self.root.namespace}/"
        return f"{self.root.kind}/{namespace}{self.root.name}"


def gateway_key(text: str) -> Key:
    """Return the key of a Gateway, `NAMESPACE/NAME`. Raises ValueError for another form."""
    namespace, slash, name = text.partition("/")
    if not slash or not namespace or not name or "/" in name:
        raise ValueError(f"publish: {text!r} is not a Gateway: write NAMESPACE/NAME")
    return Key(GATEWAY_API, "Gateway", namespace, name)


def class_key(name: str) -> Key:
    """Return the key of a GatewayClass. Raises ValueError for an invalid name."""
    if not name or "/" in name:
        raise ValueError(f"publish: {name!r} is not a name of a GatewayClass")
    return Key(GATEWAY_API, "GatewayClass", CLUSTER, name)


def name_of_cluster(cluster: str) -> str:
    """Return the name of the view with all data of a cluster. Raises ValueError for an invalid name of one."""
    if not _CLUSTER_NAME.fullmatch(cluster):
        raise ValueError(
            f"cluster {cluster!r} is not a name of lowercase letters, digits and - (at most 63 characters)"
        )
    return f"{OF_CLUSTER}.{cluster}"


def view_of(text: str, cluster: str = "") -> View:
    """Return the view of a short form (FORMS) in this cluster. Raises ValueError for another text."""
    selection, equals, content = text.partition("=")
    kind, _, rest = selection.partition("/")
    has_answers = content == EFFECTIVE
    if text in {ALL, FEDERATION}:
        return View(text)
    if text == OF_CLUSTER:
        if not cluster:
            raise ValueError("publish: the view cluster needs the setting cluster, which names it")
        return View(name_of_cluster(cluster), cluster=cluster)
    if kind in {"Gateway", "GatewayClass"} and has_answers == bool(equals):
        root = gateway_key(rest) if kind == "Gateway" else class_key(rest)
        name = f"{root.namespace}.{root.name}" if kind == "Gateway" else rest
        return View(name + f".{EFFECTIVE}" * has_answers, root, has_answers=has_answers)
    raise ValueError(f"publish: {text!r} is not a view: write {FORMS}")


def check_views(views: tuple[View, ...]) -> bool:
    """Raise ValueError for two views of one name or of one selection."""
    names: dict[str, View] = {}
    for view in views:
        if view.name in names:
            raise ValueError(f"publish: two views have the name {view.name}: give one of them another name")
        for other in names.values():
            if view.is_whole:
                continue  # each of these has its own name
            if _selected_by(view) == _selected_by(other):
                raise ValueError(f"publish: {other.name} and {view.name} both are the view of {view.selection}")
        names[view.name] = view
    return True


def _selected_by(view: View) -> tuple[Any, ...]:
    return view.root, view.namespaces, set(view.types), view.has_answers
