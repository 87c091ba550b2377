"""What aiohttp's server says, as lines of our log: what is no HTTP is nobody's error but its sender's."""

from __future__ import annotations

import logging

import structlog
from aiohttp import web
from aiohttp.http import HttpProcessingError

log = structlog.get_logger(__name__)


class _ToOurLog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError | web.RequestPayloadError):
            log.debug("a request is no HTTP", why=" ".join(str(error).split())[:200])
        elif isinstance(error, ConnectionError):
            log.debug("whoever asked has gone", why=str(error))
        elif error is not None:
            log.error("a request failed unexpectedly", message=record.getMessage(), exc_info=error)
        else:
            log.warning(record.getMessage())


def server_logger() -> logging.Logger:
    """The logger for an aiohttp server: without it, whoever sends nonsense fills the log with tracebacks."""
    logger = logging.getLogger("bridge.http")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(_ToOurLog())
    return logger
