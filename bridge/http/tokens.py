"""Tokens in files: the bridge's token for OPA, and those of OPA's readers; read again when they change.

The rules:
- A separate bundle lists the tokens that OPA accepts (`bridge.opa.credentials`).
- The bridge uses a new token only when OPA accepts it, so a change causes no gap; the previous one is accepted for
  OVERLAP more seconds, because another bridge on the same OPA may read its file later.
- A file that cannot be read, or has no token, changes nothing, and is logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from bridge.http.listeners import ServeError
from bridge.opa.bundle import Bundle
from bridge.opa.config import TOKENS_PATH
from bridge.opa.credentials import TokenError, checked_token, tokens_bundle
from bridge.policy_loader.activation import BundleEndpoint

log = structlog.get_logger(__name__)

LOOK = 2.0  # seconds between two checks of the files
OVERLAP = 600.0
_LONGEST_WAIT = 20.0  # seconds for OPA to load it


class Tokens:
    """The bridge's token from `own_file`, and readers' from `readers`: a file, or a folder of files.

    A file has one token on each line; lines that begin with # and files whose names begin with a dot are ignored.
    `archive` makes the bytes of the bundle. With `made` the bridge generates its own token if there is no file. Raises
    ServeError for an invalid token.
    """

    def __init__(
        self, own_file: str | None, readers: str | None, archive: Callable[[Bundle], bytes], *, made: bool = False
    ) -> None:
        self._own_file = own_file
        self._readers_at = readers
        self._made = secrets.token_urlsafe(32) if made and own_file is None else ""
        self._former: dict[str, float] = {}  # previous own tokens, and until when they are accepted
        self.endpoint = BundleEndpoint(TOKENS_PATH, archive)
        self._trouble = ""
        try:
            self._own = self._read_own()
            self._readers = self._read_readers()
            self._refuse_the_same(self._own, self._readers)
        except (OSError, TokenError) as error:
            raise ServeError(_why(error)) from error

    @property
    def given(self) -> bool:
        """Return whether the bridge has a token to use."""
        return bool(self._own)

    def own(self) -> str:
        """Return the bridge's current token for OPA."""
        if not self.endpoint.handed and self._own_file:
            # This bridge does not distribute the tokens: another one manages that OPA, and the file's token counts
            # immediately.
            try:
                self._own = self._read_own()
            except (OSError, TokenError) as error:
                self._tell(_why(error))
        return self._own

    async def run(self) -> None:
        """Serve the tokens, and follow the files, until cancelled."""
        await self._serve()
        while True:
            await asyncio.sleep(LOOK)
            try:
                own, readers = await asyncio.to_thread(lambda: (self._read_own(), self._read_readers()))
                self._refuse_the_same(own, readers)
            except (OSError, TokenError) as error:
                self._tell(f"{_why(error)}; the previous token stays active")
                continue
            self._trouble = ""
            if own != self._own:
                await self._change(own, readers)
            elif readers != self._readers or any(until < time.monotonic() for until in self._former.values()):
                self._readers = readers
                await self._serve()

    async def _change(self, own: str, readers: frozenset[str]) -> None:
        self._former[self._own] = time.monotonic() + OVERLAP
        self._former.pop(own, None)
        self._readers = readers
        await self._serve(own)
        if self.endpoint.handed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.endpoint.taken(self.endpoint.revision), _LONGEST_WAIT)
        self._own = own
        log.info("OPA token changed")

    async def _serve(self, *more: str) -> None:
        now = time.monotonic()
        self._former = {token: until for token, until in self._former.items() if until > now}
        if self._own:
            bundle = tokens_bundle({self._own, *self._former, *more}, self._readers)
            if bundle.revision != self.endpoint.revision:
                await self.endpoint.serve_next(bundle)

    def _read_own(self) -> str:
        if self._own_file is None:
            return self._made
        found = _in_file(Path(self._own_file))
        if len(found) != 1:
            raise TokenError(f"{self._own_file}: it holds {len(found) or 'no'} tokens: exactly one is expected")
        return found[0]

    def _read_readers(self) -> frozenset[str]:
        if self._readers_at is None:
            return frozenset()
        path = Path(self._readers_at)
        files = [path]
        if path.is_dir():
            files = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith(".")]
        return frozenset(token for file in files for token in _in_file(file))

    def _refuse_the_same(self, own: str, readers: frozenset[str]) -> None:
        if own and own in readers:
            raise TokenError(f"{self._readers_at}: a reader has the bridge's own token, which permits writes")

    def _tell(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            log.warning("token reload failed", why=trouble)


def _in_file(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        return [checked_token(line) for line in lines if line.strip() and not line.startswith("#")]
    except TokenError as error:
        raise TokenError(f"{file}: {error}") from error
    except UnicodeDecodeError as error:
        raise TokenError(f"{file}: it is not a string") from error


def _why(error: OSError | TokenError) -> str:
    if isinstance(error, OSError):
        return f"the token file {error.filename} cannot be read: {error.strerror}"
    return str(error)
