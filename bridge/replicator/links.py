"""Links of objects, queried from OPA: several queries in parallel, ahead of the write, once for the same fields.

OPA computes the links of one of many objects that differ only in texts, such as names: their *shape*. Rego says of
which objects and texts that holds (the query `link_shapes`), and computes all links.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from bridge.model.changes import Object
from bridge.model.keys import Key, group_of, key_of, parse_key, segments_of
from bridge.model.nesting import decode
from bridge.opa.batches import batches, in_parts, parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, QueryError
from bridge.replicator.documents import NO_LINKS, Documents, Links, links_of
from bridge.work import RETURNING, TOO_SLOW, delay_after

EVERY = "*"  # in a pointer, each item of a list
_MOST_TEMPLATES = 2_000
# What stands for a text: `zz7qz` in a shape, and `zz3y7qz` in the object and the links of the third shape of a query.
_TOKEN = re.compile(r"zz(?:\d+y)?(\d+)qz")
_OF_SHAPE = re.compile(r"zz(\d+)y\d+qz")
_TEXT = re.compile(r"(\*\.)?([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)")
_Tree = dict[str, "_Tree"]  # by field; empty: the text there


class Shape(NamedTuple):
    """The fields that links read, as JSON with tokens in place of texts, and these texts in their order."""

    text: str
    texts: tuple[str, ...]


class Shapes:
    """Finds the shapes of objects, and keeps the links of each shape, with tokens.

    `given` is the result of the query `link_shapes`: null while no object has a shape.
    """

    def __init__(self, given: Mapping[str, Any] | None) -> None:
        self._types = frozenset(given["types"] if given else ())
        self._texts = _tree(given["texts"] if given else ())
        self._unread = [segments_of(pointer) for pointer in (given["unread"] if given else ())]
        self._templates: dict[str, str] = {}

    def find(self, type_id: str, declared: msgspec.Raw) -> Shape | None:
        """Return the shape of an object of a type, of which `declared` are the fields that links read; None without."""
        if type_id not in self._types or _TOKEN.search(text := bytes(declared).decode()):
            return None
        part: Any = msgspec.json.decode(text)
        for *above, name in self._unread:
            holder: Any = part
            for field in above:
                holder = holder.get(field) if isinstance(holder, dict) else None
            if isinstance(holder, dict):
                holder.pop(name, None)
        texts: dict[str, int] = {}
        try:
            part = _replaced(part, self._texts, texts)
        except ValueError:
            return None
        if not _TOKEN.fullmatch(str(part["metadata"].get("name"))):
            return None  # the shape's own links could not be found by their key
        return Shape(msgspec.json.encode(part, order="deterministic").decode(), tuple(texts))

    def lacks(self, shape: Shape) -> bool:
        """Return whether the links of a shape are unknown."""
        return shape.text not in self._templates

    def learn(self, shapes: Sequence[str], answer: Mapping[str, Any]) -> None:
        """Keep the links of shapes, as `answer` has them for `examples` of these."""
        if len(self._templates) > _MOST_TEMPLATES:
            self._templates.clear()
        found = {int(name[1]): links for key, links in answer.items() if (name := _OF_SHAPE.search(key))}
        for number, text in enumerate(shapes):
            self._templates[text] = msgspec.json.encode(found.get(number)).decode()

    def links(self, shape: Shape) -> Any:
        """Return the links of an object with a known shape, in the form of the query; None if it has none."""
        template = self._templates[shape.text]
        found = msgspec.json.decode(_TOKEN.sub(lambda token: shape.texts[int(token[1])], template))
        for entry in found["entries"] if found else ():
            if isinstance(entry["value"], list):  # of a set: in the order of its texts
                entry["value"] = sorted(set(entry["value"]))
        return found


def examples(shapes: Sequence[str]) -> list[msgspec.Raw]:
    """Return one object of each shape, whose keys differ."""
    return [msgspec.Raw(_TOKEN.sub(rf"zz{number}y\1qz", text).encode()) for number, text in enumerate(shapes)]


def _tree(pointers: Sequence[str]) -> _Tree:
    tree: _Tree = {}
    for pointer in pointers:
        below = tree
        for name in segments_of(pointer):
            below = below.setdefault(name, {})
    return tree


def _replaced(value: Any, tree: _Tree, texts: dict[str, int]) -> Any:
    """Return a value with tokens. Raises ValueError if its texts are not the only thing that may differ."""
    if not tree:
        return "/".join(_token(part, texts) for part in value.split("/")) if isinstance(value, str) else value
    if isinstance(value, dict):
        for name, below in tree.items():
            if name in value:
                value[name] = _replaced(value[name], below, texts)
    elif isinstance(value, list) and EVERY in tree:
        return [_replaced(item, tree[EVERY], texts) for item in value]
    return value


def _token(text: str, texts: dict[str, int]) -> str:
    found = _TEXT.fullmatch(text)
    if not found:
        if _TEXT.fullmatch(text.lower()):
            raise ValueError("it may be equal to another text in lower case")
        return text
    return f"{found[1] or ''}zz{texts.setdefault(found[2], len(texts))}qz"


_Wanted = dict[str, "_Wanted"]  # by field; empty: all of it


_Decoders = dict[str, msgspec.json.Decoder[Any]]  # by field of an object


class LinkFields:
    """The fields that the query `links` reads (`link_fields`), or None for any field.

    `fields` are JSON Pointers; an object that has a field of `{"with": pointer}`, or is of the type of
    `{"type": type}`, is read as a whole, without the metadata that is not among the fields, and without its status
    unless `with_status`, the result of `linking_statuses`, has its type. `shapes` is the result of `link_shapes`.
    """

    def __init__(
        self,
        fields: Sequence[str | Mapping[str, str]] | None,
        shapes: Mapping[str, Any] | None = None,
        with_status: Iterable[str] = (),
    ) -> None:
        self.fields = fields
        self.with_status = frozenset(with_status)
        self.shapes = Shapes(None if fields is None else shapes)
        self._decoders = _decoders([field for field in fields or () if isinstance(field, str)])
        marks = [field for field in fields or () if not isinstance(field, str)]
        self._whole_with = _decoders([mark["with"] for mark in marks if "with" in mark])
        self._whole_types = {mark["type"] for mark in marks if "type" in mark}

    def select(self, obj: Object) -> msgspec.Raw:
        """Return this part of an object, as JSON, without its reports, which are often the larger part."""
        reports = set() if self.with_status and _type_of(obj) in self.with_status else {"status"}
        if self.fields is None:
            part = {name: value for name, value in obj.items() if name not in reports}
        elif self._is_whole(obj):
            part = {name: value for name, value in obj.items() if name not in reports | {"metadata"}}
            part["metadata"] = _decode_part(obj["metadata"], self._decoders["metadata"])
        else:
            part = {name: _decode_part(obj[name], decoder) for name, decoder in self._decoders.items() if name in obj}
        return msgspec.Raw(msgspec.json.encode(part, order="deterministic"))

    def find_shape(self, key: Key, obj: Object, declared: msgspec.Raw) -> Shape | None:
        """Return the shape of an object, of which `select` returned `declared`; None if its links are its own."""
        return None if self._is_whole(obj) else self.shapes.find(key.type_id, declared)

    def _is_whole(self, obj: Object) -> bool:
        if self._whole_types and _type_of(obj) in self._whole_types:
            return True
        return any(
            msgspec.json.encode(_decode_part(obj[name], decoder)) != b"{}"
            for name, decoder in self._whole_with.items()
            if name in obj
        )


def _type_of(obj: Object) -> str:
    return f"{group_of(obj['apiVersion'])}/{obj['kind']}"


def _decoders(fields: Sequence[str]) -> _Decoders:
    wanted: _Wanted = {}
    for field in fields:
        below = wanted
        for name in segments_of(field):
            below = below.setdefault(name, {})
    return {name: msgspec.json.Decoder(_make_shape(below)) for name, below in wanted.items()}


def _decode_part(value: Any, decoder: msgspec.json.Decoder[Any]) -> Any:
    text = value if isinstance(value, msgspec.Raw) else msgspec.json.encode(value)
    try:
        return decode(text, decoder)
    except msgspec.DecodeError:
        return value  # of an invalid form, which the Rego evaluates


def _make_shape(wanted: _Wanted) -> Any:
    """Return a type that decodes only the wanted fields, so others are not even parsed."""
    if not wanted:
        return msgspec.Raw
    if EVERY in wanted:
        return list[_make_shape(wanted[EVERY])]  # type: ignore[misc] # made while running
    names = {f"field_{number}": name for number, name in enumerate(wanted)}
    fields = [(field, _make_shape(wanted[name]), msgspec.UNSET) for field, name in names.items()]
    return msgspec.defstruct("Part", fields, rename=names)


BATCH = 500  # objects of a query
FAR = 8 * BATCH  # objects, from the oldest, whose links are queried ahead: the limit of stored results
SOON = 1.0  # seconds for the links of a slow object: OPA commits no write while it evaluates a query
REST = 9.0  # times the duration of such a query, without another one: others have nine tenths of OPA's time
SLOW = "its links take too long: an extension is slow on it"
AT_ONCE = 3  # parallel queries: OPA evaluates each on one core, and has the next one waiting


class Made(NamedTuple):
    """The links of one object. `made_from` is a hash of their inputs; None: unknown.

    `links` is None if they are the ones from the same inputs as before. With a `failure` they cannot be computed.
    """

    made_from: int | None
    links: Links | None
    failure: str = ""


_Answer = asyncio.Task[dict[Key, Links | OpaError]]
_Missing = tuple[Key, Object, msgspec.Raw, int | None]  # with the inputs of its links, and their hash


class _Pending(NamedTuple):
    """An object whose links were queried. `answer` is None if OPA has them already; nothing waits for one `apart`."""

    obj: Object
    made_from: int | None
    answer: _Answer | None
    apart: bool = False

    def is_current(self, obj: Object, known: int | None) -> bool:
        """Return whether this result is still current."""
        if self.obj is not obj:
            return False
        if self.answer is None:
            return self.made_from == known
        return not self.answer.done() or not (self.answer.cancelled() or self.answer.exception())


class Linking:
    """Returns the index entries and facts of objects.

    `documents` know what OPA has, and what its links were made from. Results that were queried `ahead` are kept until
    they are fetched, used only for the same version of the object. An object whose links took too long is queried
    apart when it changes, one such object at a time, so that others wait for it SOON seconds at most: it fails at
    first, and `retry` is called once its links can be computed.
    """

    def __init__(self, opa: Opa, documents: Documents, retry: Callable[[Key, Object], None]) -> None:
        self._opa = opa
        self._documents = documents
        self._retry = retry
        self._ahead: dict[Key, _Pending] = {}
        self._slow: set[Key] = set()  # objects whose links took too long, the last time
        self._apart: dict[Key, _Pending] = {}
        self._room = asyncio.Semaphore(AT_ONCE)
        self._room_apart = asyncio.Semaphore(1)
        self._rest_until = 0.0  # of queries apart
        self._reading: LinkFields | None = None  # None: query OPA

    async def query(self, objects: Mapping[Key, Object]) -> dict[Key, Made]:
        """Return the links of each object. Raises OpaError."""
        while objects:
            try:
                pending = self._find(objects, self._reading or await self._ask_what_is_read())
                found = await _await_answers(pending)
            except QueryError as error:
                if error.code != "OtherFields":
                    raise
                self.begin()
            else:
                self._forget(objects)
                return found
        return {}

    async def query_stored(self, keys: Sequence[str]) -> dict[Key, Links]:
        """Return the links of objects in OPA. Raises OpaError."""
        answers = await in_parts(self._opa, "links", "keys", keys, {})
        return {parse_key(key): links_of(links) for _, answer in answers for key, links in answer.items()}

    async def ahead(self, waiting: Mapping[Key, Object | None]) -> bool:
        """Query a batch of waiting objects in versions that OPA does not have, and wait for the result.

        False if there is no complete batch, or no response.
        """
        try:
            reading = self._reading or await self._ask_what_is_read()
            near = islice(waiting.items(), FAR)
            fresh = (
                (key, obj) for key, obj in near if obj and not self._has(key, obj) and not self._documents.has(key, obj)
            )
            batch = dict(islice(fresh, BATCH))
            if len(batch) < BATCH:
                return False
            pending = self._find(batch, reading)
            self._ahead |= pending
            await _await_answers(pending)
        except OpaError:
            return False  # the fetch queries again, and gets the error
        return True

    def begin(self) -> None:
        """Query the fields of links again, and links that were queried ahead.

        Modules or policy kinds may have changed. Changed ones always cause this call.
        """
        self._reading = None
        self.forget()

    def forget(self) -> None:
        """Drop results that were not fetched."""
        self._ahead.clear()

    def start_over(self) -> None:
        """Drop all results, because every object is delivered again."""
        self.forget()
        self._end_apart(list(self._apart))

    def drop(self, keys: Collection[Key]) -> None:
        """Drop the results of removed objects."""
        self._opa.failures.drop("links", map(str, keys))
        self._forget(keys)
        self._end_apart(keys)

    def _end_apart(self, keys: Iterable[Key]) -> None:
        for key in keys:
            ended = self._apart.pop(key, None)
            if ended is not None and ended.answer is not None:
                ended.answer.cancel()

    def _forget(self, keys: Collection[Key]) -> None:
        for key in keys:
            self._ahead.pop(key, None)

    def _has(self, key: Key, obj: Object) -> bool:
        pending = self._ahead.get(key)
        return pending is not None and pending.obj is obj

    async def _ask_what_is_read(self) -> LinkFields:
        names = ("link_fields", "link_shapes", "linking_statuses")
        self._reading = LinkFields(*await asyncio.gather(*(self._opa.query(name, {}) for name in names)))
        self._documents.declared_in_status = self._reading.with_status
        return self._reading

    def _find(self, objects: Mapping[Key, Object], reading: LinkFields) -> dict[Key, _Pending]:
        """Query missing results."""
        pending: dict[Key, _Pending] = {}
        missing: list[_Missing] = []
        for key, obj in objects.items():
            before = self._apart.get(key) or self._ahead.get(key)
            if before is not None and before.is_current(obj, self._documents.made_from(key)):
                pending[key] = before
                continue
            self._end_apart([key])
            declared = reading.select(obj)
            made_from = None if reading.fields is None else hash(bytes(declared))
            if made_from is not None and made_from == self._documents.made_from(key):
                pending[key] = _Pending(obj, made_from, None)
            elif key in self._slow:
                pending[key] = self._ask_apart((key, obj, declared, made_from), reading)
            else:
                missing.append((key, obj, declared, made_from))
        asking = [(batch, asyncio.create_task(self._query(reading, batch))) for batch in batches(missing, BATCH)]
        for batch, query in asking:
            for key, obj, _, made_from in batch:
                pending[key] = _Pending(obj, made_from, query)
        return pending

    def _ask_apart(self, missing: _Missing, reading: LinkFields, tries: int = 1) -> _Pending:
        key, obj, _, made_from = missing
        answer = asyncio.create_task(self._query_apart(reading, missing))
        answer.add_done_callback(lambda _: self._answered_apart(missing, reading, tries))
        self._apart[key] = _Pending(obj, made_from, answer, apart=True)
        return self._apart[key]

    def _answered_apart(self, missing: _Missing, reading: LinkFields, tries: int) -> None:
        key, obj, _, _ = missing
        one = self._apart.get(key)
        if one is None or one.answer is None or not one.answer.done() or one.answer.cancelled():
            return  # a later state of the object is queried, or it is removed
        later = asyncio.get_running_loop().call_later
        if one.answer.exception():  # OPA is away, or links read other fields now
            del self._apart[key]
            later(RETURNING.max, self._retry, key, obj)
        elif key not in self._slow:
            del self._apart[key]
            self._retry(key, obj)
        else:  # OPA may only have been busy

            def again() -> None:
                if self._apart.get(key) is one:
                    self._ask_apart(missing, reading, tries + 1)

            later(delay_after(TOO_SLOW, tries), again)

    async def _query_apart(self, reading: LinkFields, missing: _Missing) -> dict[Key, Links | OpaError]:
        clock = asyncio.get_running_loop().time
        async with self._room_apart:
            await asyncio.sleep(self._rest_until - clock())
            began = clock()
            try:
                return await self._query_now(reading, [missing], SOON)
            finally:
                self._rest_until = clock() + REST * (clock() - began)

    async def _query(self, reading: LinkFields, batch: Sequence[_Missing]) -> dict[Key, Links | OpaError]:
        async with self._room:
            return await self._query_now(reading, batch)

    async def _query_now(
        self, reading: LinkFields, batch: Sequence[_Missing], limit: float | None = None
    ) -> dict[Key, Links | OpaError]:
        by_shape = await self._links_by_shape(reading, batch) if limit is None else {}
        batch = [one for one in batch if one[0] not in by_shape]
        if not batch:
            return by_shape
        declared = [text for _, _, text, _ in batch]
        more = {"reads": reading.fields}
        answering = parts(self._opa, "links", "objects", declared, more, _name_of, _leave_out, limit=limit)
        answers = [part async for part in answering]
        found = by_shape | {parse_key(key): links_of(links) for _, answer in answers for key, links in answer.items()}
        self._slow.difference_update(key for key, *_ in batch)
        answered = {id(text) for part, _ in answers for text in part}
        for name in [_name_of(text) for text in declared if id(text) not in answered]:
            error = self._opa.failures.errors.get(("links", name))
            found[parse_key(name)] = error or OpaError(SLOW)
            if error is None:
                self._slow.add(parse_key(name))
        return found

    async def _links_by_shape(self, reading: LinkFields, batch: Sequence[_Missing]) -> dict[Key, Links | OpaError]:
        """Return the links of the objects whose shape is known, or shared: OPA gets one object of each shape."""
        shapes = {key: shape for key, obj, text, _ in batch if (shape := reading.find_shape(key, obj, text))}
        new = list({shape.text: None for shape in shapes.values() if reading.shapes.lacks(shape)})
        if 2 * len(new) > len(shapes):
            shapes = {key: shape for key, shape in shapes.items() if not reading.shapes.lacks(shape)}
        elif new:
            try:
                answer = await self._opa.query("links", {"objects": examples(new), "reads": reading.fields})
            except OpaRejected:
                return {}  # the query of each object finds the one that fails
            reading.shapes.learn(new, answer)
        self._opa.failures.drop("links", map(str, shapes))
        found = {key: reading.shapes.links(shape) for key, shape in shapes.items()}
        return {key: links_of(links) if links else NO_LINKS for key, links in found.items()}


async def _await_answers(pending: Mapping[Key, _Pending]) -> dict[Key, Made]:
    """Return the links, after all responses."""
    answers = {one.answer for one in pending.values() if one.answer is not None and not one.apart}
    try:
        await (asyncio.wait(answers) if answers else asyncio.sleep(0))  # yields to other tasks in any case
    except asyncio.CancelledError:
        for answer in answers:
            answer.cancel()
        raise
    errors = [error for answer in answers if (error := answer.exception())]
    if errors:
        raise errors[0]
    return {key: _result_of(key, one) for key, one in pending.items()}


def _result_of(key: Key, one: _Pending) -> Made:
    if one.apart:
        return Made(None, None, SLOW)
    links = None if one.answer is None else one.answer.result().get(key, NO_LINKS)
    if isinstance(links, OpaError):
        return Made(None, None, links.details)
    return Made(one.made_from, links)


def _leave_out(_: msgspec.Raw) -> None:
    """Leave out an object whose links take too long: they would delay all other objects forever."""


def _name_of(declared: msgspec.Raw) -> str:
    return str(key_of(decode(declared)))
