"""What proxies have, beside the effective policies that the page explains."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from bridge.model.keys import parse_key
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.proxies.comparison import Facts, compare_facts, read_facts
from bridge.proxies.dumps import DumpError
from bridge.proxies.inputs import ConfigDump
from bridge.queries.proxy_states import add_states

_AGE = 30.0  # seconds until dumps are read again
log = structlog.get_logger(__name__)


class Proxies:
    """The proxies whose dumps are at these places, read when an explanation needs them."""

    def __init__(self, places: Sequence[str]) -> None:
        self._inputs = [*map(ConfigDump, places)]
        self._facts: Facts | None = None
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    async def explain(self, opa: Opa, query_input: Mapping[str, Any], explained: Any) -> None:
        """Add the states of fields to the result of `explain`, if there are any proxies."""
        if not self._inputs or not isinstance(explained, list):
            return
        facts, targets = await self._current(opa), [parse_key(query_input["target"])]
        is_unread = bool(facts.unread)
        try:
            rows = (await compare_facts(opa, facts, targets, everything=True)).rows if facts.proxies else []
        except OpaError as error:
            log.warning("config dumps not compared", reason=str(error))
            rows, is_unread = [], True
        add_states(explained, rows, unread=is_unread)

    async def _current(self, opa: Opa) -> Facts:
        """Return the facts of the dumps, at most _AGE seconds old; `unread` has the dumps that cannot be read."""
        async with self._reading:
            if self._facts is None or time.monotonic() - self._read_at > _AGE:
                facts = Facts()
                for found in await asyncio.gather(*(_facts_of(opa, one) for one in self._inputs)):
                    facts.take(found)
                for reason in facts.unread.values():
                    log.warning("config dump unreadable", reason=reason)
                for reason in facts.warnings:
                    log.warning("config dump read in part", reason=reason)
                self._facts, self._read_at = facts, time.monotonic()
            return self._facts


async def _facts_of(opa: Opa, one: ConfigDump) -> Facts:
    try:
        return await read_facts(opa, [one], call=asyncio.to_thread)
    except (DumpError, OpaError) as error:
        facts = Facts()
        facts.unread[one.name] = str(error)
        return facts
