"""Where in `data.index` an entry stands: with others of its namespace, so that these enter OPA as few large values.

An entry is a path that the query `links` gives (`[part, key…]`), and the key of the object that declares it. In the
parts that nearly every object has entries in, it stands below the home (`<group>/<Kind>/<namespace>`) of the key, and
below that of its declarer; what an object declares of itself has a part of its own. `data.bridge.index` reads it.
"""

from __future__ import annotations

from sys import intern

from bridge.replicator.skeleton import Path

OWN = "own"
_BOTH_HOMES = {"children", "parents"}
_HOME_OF_DECLARER = {"referrers", "served"}


def place_of(path: Path, declarer: str) -> Path:
    """Where below `index` the entry stands."""
    part, end = path[0], path[1]
    if part in _BOTH_HOMES:
        if end == declarer:
            return OWN, part, _home(end), end
        return part, _home(end), end, _home(declarer), declarer
    if part in _HOME_OF_DECLARER:
        return part, end, _home(declarer), *path[2:], declarer
    return *path, declarer


def entry_at(place: Path) -> tuple[Path, str]:
    """The path and the declarer of the entry that stands there."""
    part, declarer = place[0], place[-1]
    if part == OWN:
        return (place[1], declarer), declarer
    if part in _BOTH_HOMES:
        return (part, place[2]), declarer
    if part in _HOME_OF_DECLARER:
        return (part, place[1], *place[3:-1]), declarer
    return place[:-1], declarer


def part_of(path: Path, declarer: str) -> str:
    """The part of the index in which the entry stands."""
    return OWN if path[0] in _BOTH_HOMES and path[1] == declarer else path[0]


def _home(key: str) -> str:
    return intern("/".join(key.split("/", 3)[:3]))
