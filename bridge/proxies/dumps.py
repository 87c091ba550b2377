"""Parts of Envoy's configuration, streamed from JSON: what `/config_dump`, `egctl` and `istioctl` print.

A dump of any size is read in bounded memory: no more than one route, listener or cluster is kept at once. Values of
secrets are left out here; nothing else decides what a part means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, BinaryIO

import ijson

PART_LIMIT = 200_000  # values of one part: a route or a listener with more is not read

# Lists of the sections of a dump, and what their entries are; a name has two spellings (Envoy's, and JSON's).
_LISTS = {
    "dynamicRouteConfigs": "routes",
    "staticRouteConfigs": "routes",
    "dynamicListeners": "listener",
    "staticListeners": "listener",
    "dynamicActiveClusters": "cluster",
    "staticClusters": "cluster",
    "ecdsFilters": "filter",
}
_SECTIONS = {
    "RoutesConfigDump": "routes",
    "ListenersConfigDump": "listeners",
    "ClustersConfigDump": "clusters",
    "EcdsConfigDump": "filters",
}
_SECTION_OF = {"routes": "routes", "listener": "listeners", "cluster": "clusters", "filter": "filters"}
_INNER = {"routes": "routeConfig", "listener": "listener", "cluster": "cluster", "filter": "ecdsFilter"}
# All that is read of a bootstrap: the node, without its environment.
_INSIDE = {("bootstrap", "node"): "node", ("node", "metadata"): "nodeMetadata", ("nodeMetadata", "LABELS"): "build"}
_READ_OF = {
    "bootstrap": {"node"},
    "node": {"id", "metadata"},
    "nodeMetadata": {"NAMESPACE", "LABELS", "ISTIO_VERSION", "role"},
}
# Maps whose keys are names that users choose, not fields.
_MAPS = {"providers", "requirementMap", "filterMetadata", "typedFilterMetadata", "typedPerFilterConfig"}
_AS_WRITTEN = {"filterMetadata", "jsonFormat", "LABELS"}  # everything below has names that users choose
_SECRET = {
    *(
        "password",
        "privateKey",
        "privateKeyProvider",
        "tokenSecret",
        "hmacSecret",
        "genericSecret",
        "sessionTicketKeys",
    ),
    *("users", "credentials", "clientSecret", "inlineBytes", "requestHeadersToAdd", "responseHeadersToAdd", "env"),
}
_CODE = {"defaultSourceCode"}  # their `inlineString` is code; elsewhere it may be a secret
_NAMES = 2  # maps around a proxy: by namespace and Pod, of any name
_UNDERSCORE = re.compile(r"_([a-z0-9])")


class DumpError(Exception):
    """A dump cannot be read; the message states why, and what to do."""


class ProxyError(Exception):
    """A proxy cannot be read; the message states why, and what to do. Others may be."""


@dataclass(slots=True)
class Part:
    """One route, virtual host, configuration of routes, listener, cluster, filter or node of one proxy."""

    proxy: str
    type: str
    config: dict[str, Any]
    route_config: str = ""
    virtual_host: str = ""
    updated: str = ""

    def document(self) -> dict[str, Any]:
        """Return the part as `proxy_facts` takes it."""
        found: dict[str, Any] = {"proxy": self.proxy, "config": self.config, "updated": self.updated}
        if self.route_config:
            found |= {"routeConfig": self.route_config, "virtualHost": self.virtual_host}
        return found


@dataclass(slots=True)
class Dump:
    """A dump while it is read: its name, and what its parts have shown so far."""

    name: str
    sections: dict[str, set[str]] = field(default_factory=dict)  # by proxy
    warnings: list[str] = field(default_factory=list)


@lru_cache(maxsize=4096)
def _camel(name: str) -> str:
    """Return a field's name as JSON has it: `route_config` is `routeConfig`. Names of filters have dots, and stay."""
    return name if "." in name or "/" in name else _UNDERSCORE.sub(lambda found: found[1].upper(), name)


def read_parts(stream: BinaryIO, dump: Dump) -> Iterator[Part]:
    """Yield the parts of a dump. Raises DumpError if it is cut off, not JSON, or has no configuration of an Envoy."""
    reader = _Reader(dump)
    try:
        yield from reader.parts(ijson.basic_parse(stream, use_float=True))
    except ijson.IncompleteJSONError as error:
        raise DumpError(_cut(dump.name, error)) from error
    except ijson.JSONError as error:
        raise DumpError(
            f"{dump.name} is not JSON ({_first_line(error)}): give Envoy's /config_dump, or use -o json"
        ) from error
    except UnicodeDecodeError as error:
        raise DumpError(f"{dump.name} is not UTF-8 text: give Envoy's /config_dump as it is, not compressed") from error
    if not dump.sections:
        raise DumpError(
            f"{dump.name} has no configuration of an Envoy: give its /config_dump, or the output of "
            "`egctl config envoy-proxy all` or `istioctl proxy-config all -o json`"
        )


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split("\n", 1)[0].split())[:120]


def _cut(name: str, error: Exception) -> str:
    text = _first_line(error)
    if "premature EOF" in str(error) or "Incomplete" in text or "incomplete" in text:
        return f"{name} is cut off: its JSON ends too early; fetch it again"
    return f"{name} is not JSON ({text}): give Envoy's /config_dump, or use -o json"


def _is_kept(frame: _Frame) -> bool:
    """Return whether the value at a frame's key is read."""
    if frame.role in _READ_OF:
        return frame.key in _READ_OF[frame.role]
    return frame.key not in _SECRET and not (frame.key == "inlineString" and frame.role != "code")


def _role_inside(above: _Frame, is_map: bool) -> str:
    """Return the role of a map or a list in a part."""
    if above.role in _READ_OF:
        return _INSIDE.get((above.role, above.key), "skip") if is_map else "skip"
    if isinstance(above.value, dict):
        if above.key in _SECRET or above.key == "virtualHosts":
            return "skip"
        if above.key in _CODE:
            return "code"
    return "build"


class _Frame:
    """A map or a list that is open: what it is, and the value that is built of it."""

    __slots__ = ("as_written", "key", "keys_as_written", "role", "value")

    def __init__(self, role: str, value: Any, *, as_written: bool = False, keys_as_written: bool = False) -> None:
        self.role = role
        self.value = value
        self.key = ""
        self.as_written = as_written
        self.keys_as_written = keys_as_written


class _Reader:
    """The state of reading: the open maps and lists.

    Roles of frames:

    - `walk`: outside of parts; nothing is kept but names.
    - `list:T`: a list whose entries are parts of type T, each in a map with its state.
    - `entry:T`, `routeConfig`, `virtualHosts`, `virtualHost`, `routeList`, `route`: within a part.
    - `bootstrap`, `node`, `nodeMetadata`: within the bootstrap, of which only the node is read.
    - `build`: a value of a part.
    - `skip`: left out.
    """

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self.ready: list[Part] = []
        self.frames: list[_Frame] = []
        self.size = 0
        self.proxy = dump.name
        self.route_config = ""
        self.virtual_host = ""

    def parts(self, events: Iterable[tuple[str, Any]]) -> Iterator[Part]:
        """Yield the parts that events of the parser make, as soon as they are whole."""
        frames, ready = self.frames, self.ready
        for event, value in events:
            if event == "map_key":
                frame = frames[-1]
                frame.key = value if frame.as_written or frame.keys_as_written else _camel(value)
            elif event in {"start_map", "start_array"}:
                self._open(event == "start_map")
            elif event in {"end_map", "end_array"}:
                self._close()
                if ready:
                    yield from ready
                    ready.clear()
            else:
                self._keep(value)

    def _keep(self, value: Any) -> None:
        if not self.frames:
            return
        frame = self.frames[-1]
        if frame.role == "build":  # most values are within one of a part
            if isinstance(frame.value, list):
                frame.value.append(value)
            elif frame.key not in _SECRET and frame.key != "inlineString":
                frame.value[frame.key] = value
            self._count()
        else:
            self._keep_outside(frame, value)

    def _keep_outside(self, frame: _Frame, value: Any) -> None:
        """Keep a value that is not within one of a part."""
        if frame.role in {"skip", "walk"}:
            if frame.role == "walk" and frame.key == "@type" and isinstance(value, str):
                section = _SECTIONS.get(value.rpartition(".")[2])
                if section:
                    self.dump.sections.setdefault(self.proxy, set()).add(section)
            return
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif _is_kept(frame):
            frame.value[frame.key] = value
        self._count()
        if frame.key == "name":
            if frame.role == "routeConfig":
                self.route_config = value
            elif frame.role == "virtualHost":
                self.virtual_host = value

    def _count(self) -> None:
        self.size += 1
        if self.size > PART_LIMIT:
            raise DumpError(f"{self.dump.name}: one part of it has more than {PART_LIMIT:,} values, which are not read")

    def _open(self, is_map: bool) -> None:
        if not self.frames:
            role = "walk" if is_map else "plain"
            self.frames.append(_Frame(role, {} if is_map else []))
            return
        above = self.frames[-1]
        # Most maps and lists are within a value of a part.
        role = _role_inside(above, is_map) if above.role == "build" else self._role(above, is_map)
        value: Any = {} if is_map else []
        as_written = above.as_written or (isinstance(above.value, dict) and above.key in _AS_WRITTEN)
        names = isinstance(above.value, dict) and above.key in _MAPS
        self.frames.append(_Frame(role, value, as_written=as_written, keys_as_written=names))

    def _role(self, above: _Frame, is_map: bool) -> str:
        if above.role == "skip":
            return "skip"
        if above.role == "walk":
            return self._role_outside(above, is_map)
        kind = "map" if is_map else "list"
        match above.role, above.key, kind:
            case "plain", _, _:
                self.size = 0
                return "bare" if is_map else "skip"
            case ("list:routes" | "list:listener" | "list:cluster" | "list:filter") as role, _, _:
                self.size = 0
                return f"entry:{role.partition(':')[2]}" if is_map else "skip"
            case "entry:routes", "routeConfig", "map":
                return "routeConfig"
            case (("routeConfig" | "bare"), "virtualHosts", "list"):
                self.route_config = above.value.get("name", "")
                return "virtualHosts"
            case "virtualHosts", _, _:
                self.size, self.virtual_host = 0, ""
                return "virtualHost" if is_map else "skip"
            case "virtualHost", "routes", "list":
                return "routeList"
            case "routeList", _, _:
                self.size = 0
                return "route" if is_map else "skip"
        return _role_inside(above, is_map)

    def _role_outside(self, above: _Frame, is_map: bool) -> str:
        if not is_map and (part := _LISTS.get(above.key)):
            self.dump.sections.setdefault(self.proxy, set()).add(_SECTION_OF[part])
            return f"list:{part}"
        if is_map and above.key == "bootstrap" and len(self.frames) > _NAMES:
            self.size = 0
            return "bootstrap"
        if is_map and self._names_proxy(above):
            self.proxy = f"{self.dump.name} {self._path(above)}"
        return "walk"

    def _names_proxy(self, above: _Frame) -> bool:
        """Return whether a map of `{namespace: {pod: …}}` or `{xds: {name: …}}` begins, which names a proxy."""
        return above.key != "configs" and len(self.frames) <= _NAMES and bool(above.key)

    def _path(self, above: _Frame) -> str:
        names = [frame.key for frame in self.frames if frame.key and frame.key != "xds"]
        return "/".join(names) if above.key else ""

    def _close(self) -> None:
        frame = self.frames.pop()
        match frame.role:
            case "skip" | "walk" | "plain" | "virtualHosts" | "routeList":
                return
            case "route":
                self.ready.append(Part(self.proxy, "route", frame.value, self.route_config, self.virtual_host))
            case "bootstrap":
                self.ready.append(Part(self.proxy, "bootstrap", frame.value))
            case "virtualHost":
                self.ready.append(Part(self.proxy, "virtualHost", frame.value, self.route_config, self.virtual_host))
            case "list:routes" | "list:listener" | "list:cluster" | "list:filter":
                return
            case "entry:routes" | "entry:listener" | "entry:cluster" | "entry:filter":
                self._end_entry(frame.role.partition(":")[2], frame.value)
            case "bare":
                self._end_bare(frame.value)
            case _:
                if self.frames:
                    above = self.frames[-1]
                    if isinstance(above.value, list):
                        above.value.append(frame.value)
                    else:
                        above.value[above.key] = frame.value
                self._count()

    def _end_entry(self, kind: str, entry: dict[str, Any]) -> None:
        state = entry.get("activeState", entry)
        config = state.get(_INNER[kind]) if isinstance(state, dict) else None
        if entry.get("errorState"):
            self.dump.warnings.append(
                f"{self.proxy} rejected a newer version of {kind} {entry.get('name', '')}".strip()
            )
        if isinstance(config, dict):
            updated = state.get("lastUpdated") or entry.get("lastUpdated") or ""
            self.ready.append(Part(self.proxy, kind, config, updated=updated))

    def _end_bare(self, config: dict[str, Any]) -> None:
        """Take an element of a list without sections, as `istioctl proxy-config routes -o json` prints it."""
        if self.route_config and config.get("name") == self.route_config:
            kind = "routes"
        elif "filterChains" in config or "defaultFilterChain" in config or "filter_chains" in config:
            kind = "listener"
        elif config.keys() & {"connectTimeout", "edsClusterConfig", "loadAssignment", "clusterType", "lbPolicy"}:
            kind = "cluster"
        else:
            return
        self.route_config = ""
        self.dump.sections.setdefault(self.proxy, set()).add(_SECTION_OF[kind])
        self.ready.append(Part(self.proxy, kind, config))
