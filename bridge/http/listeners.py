"""Listening addresses, and tokens in files. Messages of aiohttp's server go to the bridge's log."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import structlog
from aiohttp import web
from aiohttp.http import HttpProcessingError

from bridge.http.acceptor import GatedSite, Tls
from bridge.http.gate import LONGEST_IDLE, Gate, Limits
from bridge.opa.credentials import TokenError, checked_token
from bridge.settings.model import split_address

log = structlog.get_logger(__name__)


class _ToOurLog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError | web.RequestPayloadError):
            log.debug("malformed HTTP request", why=" ".join(str(error).split())[:200])
        elif isinstance(error, ConnectionError):
            log.debug("client disconnected", why=str(error))
        elif error is not None:
            log.error("request failed unexpectedly", message=record.getMessage(), exc_info=error)
        else:
            log.warning(record.getMessage())


def server_logger() -> logging.Logger:
    """Return the logger for an aiohttp server: without it, invalid requests fill the log with tracebacks."""
    logger = logging.getLogger("bridge.http")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(_ToOurLog())
    return logger


WEB_TOKEN_LENGTH = 32  # characters at least
_LEAST_DISTINCT = 10  # different characters: 32 random ones of any usual alphabet have more
_USUAL = Limits()
GATE = web.AppKey("gate", Gate)  # of a served application: the limits of its listener


class ServeError(Exception):
    """Why the bridge cannot start, in one line with the fix."""


def new_runner(app: web.Application, shutdown_timeout: float, limits: Limits = _USUAL) -> web.AppRunner:
    """Return the runner of an application, for `listen`; requests have `shutdown_timeout` seconds at its end."""
    gate = Gate(limits)
    app[GATE] = gate
    app.middlewares.insert(0, gate.follow)
    return web.AppRunner(
        app,
        access_log=None,
        logger=server_logger(),
        keepalive_timeout=LONGEST_IDLE,
        shutdown_timeout=shutdown_timeout,
    )


async def listen(runner: web.AppRunner, address: str, option: str, tls: Tls | None = None) -> tuple[str, int]:
    """Listen on `HOST:PORT` (port 0: a free one) with a runner that is set up; return host and port.

    `option` is the flag for another address, for messages. Raises ServeError.
    """
    host, port = split_address(address)
    try:
        await GatedSite(runner, host, port, runner.app[GATE], tls).start()
    except OSError as error:
        # A name that cannot be resolved has a negative error number.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise ServeError(f"cannot listen on {address}: {reason}; give another {option} HOST:PORT") from error
    return host, runner.addresses[0][1]


def checked_web_token(text: str) -> str:
    """Return the token of the page. Raises TokenError for one that may be guessed."""
    token = checked_token(text, WEB_TOKEN_LENGTH)
    if len(set(token)) < _LEAST_DISTINCT:
        raise TokenError(f"a token is random: this one has only {len(set(token))} different characters")
    return token


def web_token_of(file: str | None) -> Callable[[], str] | None:
    """Return a function that reads the token of the page. Raises ServeError also for a token that may be guessed."""
    read = token_of(file)
    if read is not None:
        try:
            checked_web_token(read())
        except TokenError as error:
            raise ServeError(f"the token file {file}: {error}; `bridge token` prints a suitable one") from error
        except (OSError, UnicodeDecodeError) as error:
            raise ServeError(f"the token file {file} cannot be read: {error}") from error
    return read


def token_of(file: str | None) -> Callable[[], str] | None:
    """Return a function that reads a bearer token from a file, None without one.

    Raises ServeError if it does not exist.
    """
    if file is None:
        return None
    path = Path(file)
    if not path.is_file():
        raise ServeError(f"the token file {file} does not exist")
    # Read again for each request, so a rotated token takes effect.
    return lambda: path.read_text().strip()
