"""What pictures say, in any form: names of nodes, of policies and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bridge.answers.pictures import Attached, Drawn, Picture
from bridge.answers.targets import short_key
from bridge.cli.plain import TIE, plain
from bridge.cli.printers.effective import MARKS, name_of
from bridge.cli.printers.table import display_width
from bridge.model.keys import Key

MOST = 48  # characters of a name; of a longer one the middle is left out


@dataclass(frozen=True, slots=True)
class Badge:
    """A policy at a node. `state`: holds, partly, overridden, refused; `mark` says so in words, "" where it holds."""

    name: str
    mark: str
    state: str

    @property
    def text(self) -> str:
        """Name and mark."""
        return f"{self.name} {self.mark}".rstrip()


def badge_of(attached: Attached, outcomes: Mapping[str, Sequence[str]]) -> Badge:
    """What is said of a policy."""
    name = f"{attached.policy.kind} {shortened(name_of(attached.policy))}"
    name += " on its Namespace" if attached.on_namespace else ""
    if attached.reason:
        return Badge(name, f"({plain(attached.reason)})", "refused")
    reasons = outcomes.get(str(attached.policy), ())
    reason = reasons[0] if len(reasons) == 1 else ""
    mark = MARKS.get(reason, "").replace(TIE, "")
    state = {"Overridden": "overridden", "PartiallyProgrammed": "partly"}.get(reason, "holds")
    return Badge(name, mark, state)


def badges_at_nodes(picture: Picture) -> Iterator[tuple[str, Badge | None, str]]:
    """For forms in which a policy is a node of its own: its name there, and the key of a node that it is bound to.

    What is said of it stands between the two when it is named first, None from then on.
    """
    named: dict[tuple[str, str], str] = {}
    for key, node in picture.nodes.items():
        for attached in node.policies:
            badge = badge_of(attached, picture.outcomes)
            where = (str(attached.policy), badge.text)
            first = where not in named
            yield named.setdefault(where, f"p{len(named)}"), badge if first else None, key


def names_of(node: Drawn) -> tuple[str, str]:
    """A node's kind and its name: of a section the level it has in its object is clear from the `#`."""
    key = node.key
    role = f" {key.role}" if key.role else ""
    more = ", which does not exist" if node.missing else ", parameters" if node.parameters else ""
    return plain(f"{key.kind}{role}{more}"), shortened(name_of(key))


def full_name(key: Key) -> str:
    """A key as a person types it."""
    return plain(short_key(key))


def title_of(picture: Picture) -> str:
    """What the picture is of, and how much of it there is."""
    drawn = sum(1 for node in picture.nodes.values() if not node.missing and not node.parameters)
    nodes = f"{picture.total:,} nodes" if picture.total != 1 else "1 node"
    return f"Hierarchy with policies: {nodes}" + (f", {drawn:,} of them drawn" if picture.counted else "")


def shortened(text: str) -> str:
    """A name that fits into a picture."""
    text = plain(text)
    if display_width(text) <= MOST:
        return text
    half = MOST // 2 - 1
    while display_width(text[:half]) + display_width(text[-half:]) >= MOST:
        half -= 1
    return f"{text[:half]}…{text[-half:]}"
