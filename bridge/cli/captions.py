"""Texts of a picture: names of its nodes, and policies with their outcomes."""

from collections.abc import Mapping
from dataclasses import dataclass

from bridge.cli.notation import MARKS, name_of
from bridge.cli.table import display_width
from bridge.model.keys import Key
from bridge.model.text import TIE, plain
from bridge.queries.hierarchies import Attached, Drawn, Picture
from bridge.queries.names import short_key

MOST = 48  # characters of a name; a longer one is shortened in the middle


@dataclass(frozen=True, slots=True)
class Badge:
    """A policy at a node. `state`: holds, partly, overridden, refused; `mark` is its text, "" for holds."""

    name: str
    mark: str
    state: str

    @property
    def text(self) -> str:
        """Return the name and the mark."""
        return f"{self.name} {self.mark}".rstrip()


def badge_of(attached: Attached, outcomes: Mapping[str, str]) -> Badge:
    """Return the badge of a policy."""
    name = f"{attached.policy.kind}/{shortened(name_of(attached.policy))}"
    name += " on its Namespace" if attached.on_namespace else ""
    if attached.reason:
        return Badge(name, f"({plain(attached.reason)})", "refused")
    outcome = outcomes.get(str(attached.policy), "")
    mark = MARKS.get(outcome, "").replace(TIE, "")
    state = {"Overridden": "overridden", "PartiallyProgrammed": "partly"}.get(outcome, "holds")
    return Badge(name, mark, state)


def names_of(node: Drawn) -> tuple[str, str]:
    """Return a node's kind and its name; the `#` shows that a section belongs to its object."""
    key = node.key
    role = f" {key.role}" if key.role else ""
    more = ", not found" if node.missing else ", parameters" if node.parameters else ""
    return plain(f"{key.kind}{role}{more}"), shortened(name_of(key))


def full_name(key: Key) -> str:
    """Return a key in the form for commands."""
    return plain(short_key(key))


def title_of(picture: Picture) -> str:
    """Return the title: the subject of the picture and its size."""
    drawn = sum(1 for node in picture.nodes.values() if not node.missing and not node.parameters)
    nodes = f"{picture.total:,} nodes" if picture.total != 1 else "1 node"
    return f"Hierarchy with policies: {nodes}" + (f", {drawn:,} of them drawn" if picture.counted else "")


def shortened(text: str) -> str:
    """Return a name short enough for a picture."""
    text = plain(text)
    if display_width(text) <= MOST:
        return text
    half = MOST // 2 - 1
    while display_width(text[:half]) + display_width(text[-half:]) >= MOST:
        half -= 1
    return f"{text[:half]}…{text[-half:]}"
