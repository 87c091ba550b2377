"""Logs: one line for each event, on standard error, for people or as JSON.

Libraries' messages have the same format. Long values are cut, control characters are replaced, and a password in an
address is removed. For repeated attempts, the same reason (an info with `why`) is logged once a minute.
"""

import logging
import re
import sys
import time
from typing import Any

import structlog
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import EventDict, Processor, WrappedLogger

from bridge.model.keys import Key
from bridge.model.text import plain

MOST_ITEMS = 10  # of a list; then their number
LONGEST = 2000  # characters of a text
AGAIN = 60.0  # seconds in which the same reason of a wait is not logged again

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_PASSWORD = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def configure_logs(level: str, form: str) -> None:
    """Set the lowest logged level (`debug` to `error`) and the form (`console` or `json`)."""
    renderer: Processor = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=32)
    # Without local variables, which may contain a token.
    tracebacks: Processor = structlog.processors.format_exc_info
    if form == "json":
        renderer = structlog.processors.JSONRenderer()
        tracebacks = structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
    structlog.configure(
        processors=[
            _Repeats(),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso" if form == "json" else "%H:%M:%S", utc=form == "json"),
            _shorten,
            tracebacks,
            _on_lines,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [*(one for one in root.handlers if not isinstance(one, _Passing)), _Passing()]
    root.setLevel(logging.WARNING)


class _Repeats:
    """Drops recently logged events."""

    def __init__(self) -> None:
        self._logged: dict[str, float] = {}

    def __call__(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        if method != "info" or "why" not in event:
            return event
        now, line = time.monotonic(), repr(event)
        self._logged = {known: when for known, when in self._logged.items() if when > now - AGAIN}
        if line in self._logged:
            raise structlog.DropEvent
        self._logged[line] = now
        return event


class _Passing(logging.Handler):
    """Passes on libraries' messages from Python's own logging."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger(record.name)
        level = max(record.levelno, logging.WARNING)
        log.log(level, record.getMessage(), library=record.name, exc_info=record.exc_info)


def _shorten(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {name: value if name == "exc_info" else _printable(value) for name, value in event.items()}


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Key):  # a tuple too
        return _text(str(value))
    if isinstance(value, list | tuple):
        more = [f"and {len(value) - MOST_ITEMS} more"] if len(value) > MOST_ITEMS else []
        return [*map(_printable, value[:MOST_ITEMS]), *more]
    if isinstance(value, dict):
        return {_printable(name): _printable(one) for name, one in value.items()}
    return value


def _on_lines(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Indent the lines of a traceback for people: no line of an exception's message looks like one of the log."""
    if isinstance(event.get("exception"), str):
        event["exception"] = "\n".join(f"  {plain(line)}" for line in event["exception"].split("\n"))
    return event


def _text(text: str) -> str:
    redacted = plain(_PASSWORD.sub("…", text) if "@" in text else text)
    return redacted if len(redacted) <= LONGEST else f"{redacted[: LONGEST - 1]}…"
