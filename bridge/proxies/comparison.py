"""Comparison of proxies with what is in effect: parts of dumps go to OPA as facts, facts by target as verdicts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO, Protocol

import msgspec

from bridge.model.keys import Key, parse_key
from bridge.opa.batches import batches, in_halves
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.proxies.dumps import Dump, Part, ProxyError, read_parts

_PARTS, _HOSTS, _TARGETS = 1_000, 100, 1_000  # of a query
Entry = dict[str, Any]


class Input(Protocol):
    """A dump that can be opened."""

    @property
    def name(self) -> str:
        """Return its name in messages."""

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Return its bytes. Raises ProxyError if the others can be read without it."""


@dataclass(slots=True)
class Comparison:
    """Rows of verdicts, and the number of all by their state; `proxies` are those of the dumps, with their vendors."""

    rows: list[Entry] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    wrong: Sequence[str] = ()  # the states that are differences
    proxies: dict[str, Entry] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)  # why dumps could not be read, by their names
    # Proxies that differ, by Gateway, if others do not.
    disagreeing: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def fails(self) -> bool:
        """Return whether a proxy differs from what is in effect."""
        return any(self.counts.get(state) for state in self.wrong)


class Facts:
    """Facts of dumps: by their targets, and by the keys that other facts refer to."""

    def __init__(self) -> None:
        self.by_target: dict[str, list[Entry]] = defaultdict(list)
        self.by_key: dict[tuple[str, str, str], list[Entry]] = defaultdict(list)
        self.proxies: dict[str, Entry] = {}
        self.covered: dict[str, list[str]] = defaultdict(list)  # proxies by Gateways
        self.warnings: list[str] = []
        self.unread: dict[str, str] = {}  # why dumps could not be read, by their names
        self.taken: set[tuple[Any, ...]] = set()  # proxies and orders of routes whose requests an earlier one takes
        self.strays: set[tuple[Any, ...]] = set()  # those of routes that belong to no rule
        self._contents: dict[bytes, Entry] = {}  # what facts say besides their names; many facts share it

    def add_answer(self, answer: Entry) -> None:
        """Keep the facts of an answer of `proxy_facts`."""
        abouts = [(encoded, about) for about in answer["abouts"] for encoded in (msgspec.json.encode(about),)]
        for fact in answer["facts"]:
            self._add(fact, *abouts[fact.pop("about")] if "about" in fact else (b"", {}))

    def _add(self, fact: Entry, encoded: bytes, about: Entry) -> None:
        proxy = self.proxies.setdefault(fact["proxy"], _proxy())
        if covered := fact.get("covers"):
            if fact["vendor"] not in proxy["vendors"]:
                proxy["vendors"].append(fact["vendor"])
            if covered not in proxy["covers"]:
                proxy["covers"].append(covered)
                self.covered[covered].append(fact["proxy"])
        if "unread" in fact:
            proxy["unread"][fact["vendor"]] = fact["unread"]
        if "order" in fact and "target" not in fact:
            self.strays.add((fact["proxy"], *fact["order"]))
        content = {name: fact.pop(name) for name in _CONTENT if name in fact}
        encoded += msgspec.json.encode(content)
        if encoded not in self._contents:
            self._contents[encoded] = _joined(about, content)
        fact["content"] = self._contents[encoded]
        if "target" in fact:
            self.by_target[fact["target"]].append(fact)
        if "key" in fact:
            self.by_key[fact["proxy"], fact["vendor"], fact["key"]].append(fact)

    def take(self, others: Facts) -> None:
        """Keep the facts of other dumps."""
        for proxy, about in others.proxies.items():
            mine = self.proxies.setdefault(proxy, _proxy())
            for name in ("vendors", "covers", "sections"):
                mine[name] += [one for one in about[name] if one not in mine[name]]
            mine["unread"] |= about["unread"]
        for gateway, proxies in others.covered.items():
            self.covered[gateway] += [one for one in proxies if one not in self.covered[gateway]]
        for target, facts in others.by_target.items():
            self.by_target[target] += facts
        for key, facts in others.by_key.items():
            self.by_key[key] += facts
        self.warnings += others.warnings
        self.unread |= others.unread
        self.taken |= others.taken

    def of(self, targets: Iterable[str]) -> Entry:
        """Return the input of `verify` for targets: `found`, and `families`, each of which many targets may share.

        A family is a fact with those that it refers to, without what identifies them.
        """
        numbers: dict[Any, int] = {}
        families: dict[bytes, int] = {}
        found: dict[str, list[Entry]] = {}
        for target in targets:
            for fact in self.by_target.get(target, ()):
                alike = self._alike(fact)
                if alike not in numbers:
                    numbers[alike] = families.setdefault(msgspec.json.encode(self._family(fact)), len(families))
                entry = {"proxy": fact["proxy"], "via": self._via(fact), "family": numbers[alike]}
                if "match" in fact:
                    entry |= {"match": fact["match"], "late": self._is_late(fact), "hosts": self._hosts(fact)}
                    entry |= {"answers": fact["answers"]} if "answers" in fact else {}
                found.setdefault(target, []).append(entry)
        return {"found": found, "families": [msgspec.Raw(one) for one in families]}

    def _referred(self, fact: Entry, keys: Iterable[str]) -> Iterator[Entry]:
        for key in keys:
            yield from self.by_key.get((fact["proxy"], fact["vendor"], key), ())

    def _via(self, fact: Entry) -> str:
        """Return the listener at which a fact is: its own, or that of what it is within."""
        via: str = fact.get("via") or next(
            (one["via"] for one in self._referred(fact, fact.get("within", ())) if "via" in one), ""
        )
        return via

    def _is_late(self, fact: Entry) -> bool:
        return (fact["proxy"], *fact["order"]) in self.taken

    def _hosts(self, fact: Entry) -> list[str]:
        """Return the hostnames of the virtual host in which a fact is."""
        return [host for one in self._referred(fact, fact.get("within", ())) for host in one.get("hosts", ())]

    def _is_there(self, fact: Entry, key: str) -> bool:
        """Return whether facts have a key, at as many places as the key among which they are: none lacks it."""
        found = [*self._referred(fact, (key,))]
        return bool(found) and all(
            _number_of_places(found) >= _number_of_places(self._referred(fact, (one["among"],)))
            for one in found
            if "among" in one
        )

    def _updated(self, fact: Entry, keys: Iterable[str]) -> str:
        """Return when the proxy received the newest of a fact's parts; one at several places is as old as the oldest.

        A control plane that has sent one part since a policy changed knows the policy: the others need no new version.
        """
        times = ([one["updated"] for one in self._referred(fact, (key,)) if one.get("updated")] for key in keys)
        return max((min(found) for found in times if found), default="")

    def _alike(self, fact: Entry) -> Any:
        """Return what the family of a fact depends on: equal for facts of equal families."""
        around = tuple(
            tuple(dict.fromkeys((id(one["content"]), one.get("updated", "")) for one in self._referred(fact, (key,))))
            for name in ("within", "refers")
            for key in fact.get(name, ())
        )
        return fact["proxy"], fact["vendor"], id(fact["content"]), len(fact.get("within", ())), around

    def _family(self, fact: Entry) -> Entry:
        about = fact["content"]
        keys = [*fact.get("refers", ()), *about.get("refers", ())]
        referred = [*self._referred(fact, keys)]
        within = [*self._referred(fact, fact.get("within", ()))]
        itself, behind, around = about, [one["content"] for one in referred], [one["content"] for one in within]
        values = [one["content"]["values"] for one in _each_once((fact, *referred)) if one["content"].get("values")]
        has_listeners = "listeners" in self.proxies[fact["proxy"]]["sections"]
        lost = "missing" if has_listeners else "unknown"
        return {
            "vendor": fact["vendor"],
            "origins": [
                one["origins"] for one in {id(one): one for one in (itself, *around)}.values() if one.get("origins")
            ],
            "names": [one["names"] for one in (itself, *behind) if one.get("names")],
            "beside": sorted({node for one in (itself, *behind) for node in one.get("beside", ())}),
            "serving": "there" if all(self._is_there(fact, key) for key in about.get("needs", ())) else lost,
            "values": values if about.get("values") else [{}, *values],
            "lacks": any((fact["proxy"], fact["vendor"], key) not in self.by_key for key in keys),
            "because": about.get("because", {}),
            "requires": {
                kind: {
                    part: "there" if all(self._is_there(fact, key) for key in keys) else lost
                    for part, keys in parts.items()
                }
                for kind, parts in about.get("requires", {}).items()
            },
            "updated": self._updated(fact, (*fact.get("within", ()), *keys)),
            "unknown": sorted(
                {
                    text
                    for one in (
                        itself,
                        *around,
                        *behind,
                        *(needed["content"] for needed in self._referred(fact, about.get("needs", ()))),
                    )
                    for text in one.get("unknown", ())
                }
            ),
        }


# What a fact says besides its names and those of the parts of the dump that it is about.
_CONTENT = ("origins", "names", "beside", "values", "because", "requires", "needs", "unknown")


def _joined(about: Entry, own: Entry) -> Entry:
    """Return what a fact says together with its `about`: lists one after the other, maps as one."""
    joined = dict(about)
    for name, value in own.items():
        if name not in joined:
            joined[name] = value
        elif isinstance(value, list):
            joined[name] = [*joined[name], *value]
        else:
            joined[name] = joined[name] | value
    return joined


def _number_of_places(facts: Iterable[Entry]) -> int:
    """Return at how many places facts are; a place may have several."""
    return len(
        {msgspec.json.encode((fact.get("name"), fact["place"])) if "place" in fact else id(fact) for fact in facts}
    )


def _proxy() -> Entry:
    """Return a proxy of which nothing is known yet."""
    return {"vendors": [], "covers": [], "sections": [], "unread": {}}


def _each_once(facts: Iterable[Entry]) -> Iterator[Entry]:
    """Yield facts, without those of the same key and values: a part that several listeners have."""
    seen: set[bytes] = set()
    for fact in facts:
        content = msgspec.json.encode([fact.get("key"), fact["content"].get("values")])
        if content not in seen:
            seen.add(content)
            yield fact


class Hosts:
    """The matches of the routes of each virtual host, in the order in which Envoy tries them."""

    def __init__(self) -> None:
        self._matches: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
        self._names: dict[tuple[str, str, str], list[str]] = defaultdict(list)

    def ordered(self, part: Part) -> Entry:
        """Return a part as `proxy_facts` takes it: a route with its place (`order`), a host with names of `routes`."""
        found = part.document()
        host = part.proxy, part.route_config, part.virtual_host
        if part.type == "route":
            found["order"] = [part.route_config, part.virtual_host, len(self._matches[host])]
            self._matches[host].append(part.config.get("match", {}))
            self._names[host].append(part.config.get("name", ""))
        elif part.type == "virtualHost":
            found["routes"] = self._names.pop(host, [])
        return found

    async def taken(self, opa: Opa, strays: Iterable[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
        """Return proxies and orders of routes whose requests an earlier one takes, or one of `strays` a part."""
        found: set[tuple[Any, ...]] = set()
        places: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for *host, place in strays:
            places[tuple(host)].append(place)
        for group in batches([*self._matches], _HOSTS):
            query_input = {
                "hosts": [self._matches[host] for host in group],
                "strays": [sorted(places.get(host, ())) for host in group],
            }
            answer = await opa.query("taken_routes", query_input)
            found |= {(*host, place) for host, places in zip(group, answer, strict=True) for place in places}
        return found


# The fields in which most routes and most clusters differ from the others.
_OWN = {
    "route": {"name", "match", "metadata"},
    "cluster": {"name", "metadata", "altStatName", "edsClusterConfig", "loadAssignment"},
}


def _with_shared(parts: Iterable[tuple[str, Entry]]) -> Entry:
    """Return the input of `proxy_facts` for parts: what several routes or clusters have in common is in it once."""
    resources: dict[str, list[Entry]] = defaultdict(list)
    places: dict[bytes, int] = {}
    for kind, part in parts:
        resources[kind].append(part)
        if kind in _OWN:
            config = part["config"]
            own = {name: config[name] for name in _OWN[kind] & config.keys()}
            rest = {name: value for name, value in config.items() if name not in own}
            if isinstance(action := rest.get("route"), dict) and "cluster" in action:
                own["route"] = {"cluster": action["cluster"]}
                rest["route"] = {name: value for name, value in action.items() if name != "cluster"}
            part |= {"config": own, "shared": places.setdefault(msgspec.json.encode(rest), len(places))}
    return {"resources": resources, "shared": [msgspec.Raw(one) for one in places]}


Call = Callable[..., Awaitable[Any]]


async def _directly(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


async def read_facts(opa: Opa, inputs: Sequence[Input], *, call: Call = _directly) -> Facts:
    """Return the facts of dumps. `call` runs what blocks, such as `asyncio.to_thread`.

    Raises DumpError for a dump that cannot be read as a whole.
    """
    facts = Facts()
    for one in inputs:
        try:
            with ExitStack() as stack:
                stream = await call(stack.enter_context, one.open())
                found = await _read_dump(opa, stream, Dump(one.name), call)
        except ProxyError as error:
            facts.unread[one.name] = str(error)
        else:
            facts.take(found)
    for proxy, about in facts.proxies.items():
        if not about["covers"]:
            facts.warnings.append(
                f"{proxy}: no rules know the configuration of this proxy, so nothing of it is verified"
            )
    return facts


async def _read_dump(opa: Opa, stream: BinaryIO, dump: Dump, call: Call) -> Facts:
    facts, hosts, parts = Facts(), Hosts(), read_parts(stream, dump)

    def next_batch() -> Entry | None:
        batch = [(part.type, hosts.ordered(part)) for part in islice(parts, _PARTS)]
        return _with_shared(batch) if batch else None

    while batch := await call(next_batch):
        facts.add_answer(await opa.query("proxy_facts", batch))
    facts.taken = await hosts.taken(opa, facts.strays)
    for proxy, sections in dump.sections.items():
        facts.proxies.setdefault(proxy, _proxy())["sections"] = sorted(sections)
    facts.warnings = dump.warnings
    return facts


async def compare(
    opa: Opa, inputs: Sequence[Input], targets: Sequence[Key] = (), *, everything: bool = False
) -> Comparison:
    """Compare dumps with what is in effect (see `compare_facts`). Raises DumpError for one that cannot be read."""
    return await compare_facts(opa, await read_facts(opa, inputs), targets, everything=everything)


async def compare_facts(opa: Opa, facts: Facts, targets: Sequence[Key] = (), *, everything: bool = False) -> Comparison:
    """Compare facts of dumps with what is in effect at targets and below them; by default at all effective targets.

    Without `everything`, the rows are only those with differences, or that are not known.
    """
    found = Comparison(proxies=facts.proxies, warnings=facts.warnings, unread=facts.unread)
    nodes = await opa.query("verified_targets", {"targets": [str(key) for key in targets]} if targets else {})
    wanted = list(nodes) if targets else sorted({*nodes, *facts.by_target})
    counted: Counter[str] = Counter()

    async def ask(batch: Sequence[str]) -> Entry:
        query_input = {"targets": batch, "proxies": facts.proxies, "covered": facts.covered, **facts.of(batch)}
        verdicts: Entry = await opa.query("verify", {**query_input, "everything": everything})
        return verdicts

    async for _, answer in in_halves(opa, batches(wanted, _TARGETS), ask):
        if isinstance(answer, OpaError):
            raise answer
        counted.update(answer["counts"])
        found.rows += answer["rows"]
        found.wrong = answer["differences"]
    found.counts = dict(sorted(counted.items()))
    wrong = [row for row in found.rows if row["state"] in found.wrong]
    found.disagreeing = dict(_disagreeing(facts.covered, wrong))
    found.rows.sort(key=lambda row: (row["target"], row["path"], row["policyKind"], row["proxy"], row["field"]))
    return found


def _disagreeing(
    covered: Mapping[str, Sequence[str]], differences: Iterable[Entry]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each Gateway of whose proxies some differ from what is in effect, and others do not, with those that do."""
    differing: dict[str, set[str]] = defaultdict(set)
    for row in differences:
        for node in row["path"]:
            differing[str(parse_key(node).object)].add(row["proxy"])
    for gateway, proxies in sorted(covered.items()):
        found = [proxy for proxy in proxies if proxy in differing[gateway]]
        if 0 < len(found) < len(proxies):
            yield gateway, found
