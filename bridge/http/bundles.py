"""The bundles of modules and of tokens: signed, and served only to OPA; and the tokens in files.

The rules of tokens, which are the bridge's token for OPA and those of OPA's readers:
- A separate bundle lists the tokens that OPA accepts (`bridge.opa.credentials`).
- The bridge reads the files again when they change, and uses a new token only when OPA accepts it, so a change causes
  no gap; the previous one is accepted for OVERLAP more seconds, because another bridge on the same OPA may read its
  file later.
- A file that cannot be read, or has no token, changes nothing, and is logged.
"""

import asyncio
import base64
import contextlib
import functools
import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path

import msgspec
import structlog
from aiohttp import web
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from bridge.files import read_text
from bridge.http.connections import Handler, Pieces
from bridge.http.listeners import ServeError
from bridge.http.request_guard import (
    Refused,
    WrongTokens,
    bearer_of,
    check_host,
    check_origin,
    digest_of,
    same,
    unauthorized,
)
from bridge.model.addresses import is_loopback
from bridge.opa.bundle import (
    BUNDLE_CONTENT_TYPE,
    BUNDLE_NAME,
    BUNDLE_PATH,
    KEY_ALGORITHM,
    KEY_ID,
    TOKENS_NAME,
    TOKENS_PATH,
    Bundle,
    BundleTrust,
    archive_of,
)
from bridge.opa.credentials import (
    BundleCredentials,
    CredentialsError,
    TokenError,
    checked_token,
    default_folder,
    kept_credentials,
    new_credentials,
    tokens_bundle,
)
from bridge.settings.model import Settings
from bridge.work import FILES, OwnersTurns

log = structlog.get_logger(__name__)


class Bundles:
    """The endpoints of both bundles. OPA fetches and verifies them by `trust`. Raises ServeError."""

    def __init__(self, settings: Settings) -> None:
        credentials = _load_credentials(settings)
        self.trust: BundleTrust = credentials.trust
        self.modules = BundleEndpoint(BUNDLE_PATH, functools.partial(sign_bundle, credentials.key, BUNDLE_NAME))
        self.tokens = Tokens(
            settings.opa_token_file,
            settings.opa_readers,
            functools.partial(sign_bundle, credentials.key, TOKENS_NAME),
            made=settings.opa_requires_tokens and settings.opa_url is None,
        )
        self.guard = BundleGuard(
            lambda given: same(given, credentials.token),
            WrongTokens("bundle"),
            "bundles are only for an OPA configured with `pbctl admin opa-config`",
            local=is_loopback(settings.listen_address[0]),
        )

    def add_to(self, app: web.Application) -> None:
        """Add both endpoints to an application."""
        for endpoint in (self.modules, self.tokens.endpoint):
            endpoint.add_to(app, self.guard)


_SIGNATURES = ".signatures.json"
_HASHED_AS_JSON = frozenset({".manifest", "data.json"})  # in any folder
_COORDINATE = 32  # bytes of each of the two numbers of an ES256 signature


def sign_bundle(key: ec.EllipticCurvePrivateKey, scope: str, bundle: Bundle) -> bytes:
    """Return the archive of a bundle with its signature, which OPA accepts only for the bundle name `scope`.

    Format: https://www.openpolicyagent.org/docs/management-bundles#signing
    """
    files = [
        {"name": name, "hash": hashlib.sha256(_select_hash_input(name, content)).hexdigest(), "algorithm": "SHA-256"}
        for name, content in bundle.files.items()
    ]
    header = _encode_part({"alg": KEY_ALGORITHM, "kid": KEY_ID, "typ": "JWT"})
    payload = header + b"." + _encode_part({"files": files, "scope": scope})
    numbers = decode_dss_signature(key.sign(payload, ec.ECDSA(hashes.SHA256())))
    signature = b"".join(number.to_bytes(_COORDINATE, "big") for number in numbers)
    token = payload + b"." + _encode_base64url(signature)
    return archive_of({**bundle.files, _SIGNATURES: msgspec.json.encode({"signatures": [token.decode()]})})


def _select_hash_input(name: str, content: bytes) -> bytes:
    """Return the hash input of a file: for JSON the form without spaces, with sorted keys, as Go writes it."""
    if name.rpartition("/")[2] not in _HASHED_AS_JSON:
        return content
    return content.replace("\u2028".encode(), b"\\u2028").replace("\u2029".encode(), b"\\u2029")


def _encode_part(value: object) -> bytes:
    return _encode_base64url(msgspec.json.encode(value))


def _encode_base64url(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


LONGEST_WAIT = 60.0  # seconds; clients that request more get a response by then
DOWNLOADS = 16  # of one bundle at once; other clients wait for their response
LONGEST_TURN = 5.0  # seconds; then the next download begins beside that of a slow client
# Bytes of former bundles that slow clients may keep in memory; more only for the last one of these.
SUPERSEDED = 1 << 24


class BundleEndpoint:
    """Serves one bundle at a time at `path`; requests before the first one wait.

    `archive` makes the served bytes of a bundle. `handed_revision` is the last served revision. `refusal` is why there
    is no bundle and will be none soon; clients with an earlier one keep it. The endpoint trusts requests: `add_to` gets
    the guard that allows only OPA.

    When many clients come at once, as after a restart, their tokens take turns, and each client gets the newest bundle.
    Those that have it download nothing. A refusal (429 or 503) would be an error in OPA's status, and OPA ignores its
    Retry-After. `turns` are those of several endpoints together. `downloads` is the number of downloads.
    """

    def __init__(
        self,
        path: str,
        archive: Callable[[Bundle], bytes],
        bundle: Bundle | None = None,
        turns: OwnersTurns | None = None,
    ) -> None:
        self.downloads = 0
        self.handed_revision = ""
        self.refusal = ""
        self._confirmed = ""
        self._path = path
        self._archive = archive
        self._bundle = bundle
        self._content = archive(bundle) if bundle else b""
        self._fresh_start: Callable[[], None] = lambda: None
        self._check_first: Callable[[], Awaitable[None]] | None = None
        self._changed = asyncio.Condition()
        self._sending: dict[asyncio.Task[None], bytes] = {}  # contents of downloads in progress, the first one first
        self._own_turns = OwnersTurns(DOWNLOADS)
        self._turns = turns or OwnersTurns(DOWNLOADS)
        self._taken = asyncio.Condition()  # apart from `_changed`, because many clients may wait for that
        self._ended = False

    @property
    def bundle(self) -> Bundle | None:
        """Return the served bundle; None before the first."""
        return self._bundle

    @property
    def revision(self) -> str:
        """Return the served revision; "" before the first."""
        return self._bundle.revision if self._bundle else ""

    def on_fresh_start(self, call: Callable[[], None]) -> None:
        """Call this when a client without a bundle sends a request: its OPA has just started."""
        self._fresh_start = call

    def before_first_bundle(self, check: Callable[[], Awaitable[None]]) -> None:
        """Await this before a client without a bundle gets one. If it takes too long, the client gets none."""
        self._check_first = check

    def add_to(self, app: web.Application, guard: Callable[[Handler], Handler]) -> None:
        """Add the endpoint to an application, behind a guard."""
        app.router.add_get(self._path, guard(self._get))
        app.on_shutdown.append(self._end)

    async def serve_next(self, bundle: Bundle, content: bytes = b"") -> None:
        """Serve another bundle from now on, with its archive if it was made; waiting clients get it immediately."""
        async with self._changed:
            self._bundle, self._content, self.refusal = bundle, content or self._archive(bundle), ""
            self._changed.notify_all()
        self._disconnect_slowest()

    def _disconnect_slowest(self) -> None:
        former: dict[int, int] = {}  # sizes of former contents, by identity
        for sending, content in reversed(self._sending.items()):
            if content is not self._content:
                former[id(content)] = len(content)
                if len(former) > 1 and sum(former.values()) > SUPERSEDED:
                    sending.cancel()

    async def refuse(self, why: str) -> None:
        """Refuse requests from now on until there is another bundle."""
        async with self._changed:
            self._bundle, self._content, self.refusal = None, b"", why
            self._changed.notify_all()

    async def _end(self, _: web.Application) -> None:
        """Answer waiting clients: there is no other bundle."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def wait_until_taken(self, revision: str) -> None:
        """Wait until an OPA has activated this revision, which it confirms by polling with it."""
        async with self._taken:
            await self._taken.wait_for(lambda: self._confirmed == revision)

    async def wait_for_other(self, revision: str) -> None:
        """Wait until another revision than this one is served."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.revision != revision)

    async def _get(self, request: web.Request) -> web.StreamResponse:
        has = request.headers.get("If-None-Match", "").strip('"')
        if not has:
            self._fresh_start()
            if self._check_first is not None and not await _ends_in_time(self._check_first()):
                return web.Response(status=503, headers={"Content-Type": BUNDLE_CONTENT_TYPE})
        if has != self._confirmed:
            async with self._taken:
                self._confirmed = has
                self._taken.notify_all()
        wait = _read_wait(request.headers.getall("Prefer", []))
        if wait > 0 and not self._has_news(has):
            try:
                async with asyncio.timeout(wait), self._changed:
                    await self._changed.wait_for(lambda: self._has_news(has))
            except TimeoutError:
                pass
        response = self._respond(has)
        if response.status != HTTPStatus.OK or request.transport is None:  # the client has left
            return response
        token = digest_of(bearer_of(request) or "")
        async with self._own_turns.of(token), self._turns.of(token):
            response = self._respond(has)
            self.downloads += response.status == HTTPStatus.OK
            sending = asyncio.create_task(_send(request, response))
            self._sending[sending] = self._content
            sending.add_done_callback(self._sending.pop)
            await asyncio.wait([sending], timeout=LONGEST_TURN)
        await sending
        return response

    def _respond(self, has: str) -> web.Response:
        bundle = self._bundle
        if self.refusal:
            return refuse_bundle("NothingSelected", self.refusal)
        if bundle is None:
            # Clients with an earlier one keep it until the next bundle is known.
            return web.Response(status=304 if has else 503, headers={"Content-Type": BUNDLE_CONTENT_TYPE})
        headers = {"ETag": f'"{bundle.revision}"', "Content-Type": BUNDLE_CONTENT_TYPE}
        if has == bundle.revision:
            return web.Response(status=304, headers=headers)
        self.handed_revision = bundle.revision
        return web.Response(body=Pieces(self._content), headers=headers)

    def _has_news(self, has: str) -> bool:
        if self._ended or self.refusal:
            return True
        return self._bundle is not None and self._bundle.revision != has


async def _ends_in_time(check: Awaitable[None]) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_WAIT):
            await check
            return True
    return False


async def _send(request: web.Request, response: web.Response) -> None:
    with contextlib.suppress(ConnectionError):  # the client has left
        await response.prepare(request)
        await response.write_eof()


def refuse_bundle(code: str, message: str) -> web.Response:
    """Return the response to a request for a bundle that does not exist."""
    return web.json_response({"error": {"code": code, "message": message}}, status=404)


def _read_wait(preferences: list[str]) -> float:
    """Return the seconds that a client accepts to wait, from `Prefer: …;wait=N` (RFC 7240)."""
    for part in ";".join(preferences).replace(",", ";").split(";"):
        name, _, value = part.strip().partition("=")
        if name == "wait" and value.isdecimal():
            return min(float(value), LONGEST_WAIT)
    return 0.0


class BundleGuard:
    """Allows requests with a token that `accepts` returns true for; `message` is for others.

    `local`: the bridge listens on loopback, which limits the Host.
    """

    def __init__(
        self, accepts: Callable[[str], object], wrong_tokens: WrongTokens, message: str, *, local: bool
    ) -> None:
        self.wrong_tokens = wrong_tokens
        self._accepts = accepts
        self._message = message
        self._local = local

    def __call__(self, handler: Handler) -> Handler:
        """Run the checks before a handler, which may change state."""

        @functools.wraps(handler)
        async def guarded(request: web.Request) -> web.StreamResponse:
            try:
                self._check(request)
            except Refused as refused:
                error = {"code": refused.code, "message": str(refused)}
                return web.json_response({"error": error}, status=refused.status, headers=refused.headers)
            return await handler(request)

        return guarded

    def _check(self, request: web.Request) -> None:
        if self._local:
            check_host(request, "which is where it listens")
        check_origin(request)
        given = bearer_of(request)
        if given is None:
            raise unauthorized(self._message)
        if not self._accepts(given):
            raise self.wrong_tokens.refusal(request, self._message)


def _load_credentials(settings: Settings) -> BundleCredentials:
    """Return the credentials in the settings' folder, or new ones for the bridge's own OPA."""
    if settings.opa_url is None:
        return new_credentials()
    try:
        return kept_credentials(Path(settings.bundle_credentials or default_folder()))
    except CredentialsError as error:
        raise ServeError(str(error)) from error


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
            raise ServeError(_describe_error(error)) from error

    @property
    def given(self) -> bool:
        """Return whether the bridge has a token to use."""
        return bool(self._own)

    def own(self) -> str:
        """Return the bridge's current token for OPA."""
        if not self.endpoint.handed_revision and self._own_file:
            # This bridge does not distribute the tokens: another one manages that OPA, and the file's token counts
            # immediately.
            try:
                self._own = self._read_own()
            except (OSError, TokenError) as error:
                self._log_trouble(_describe_error(error))
        return self._own

    async def run(self) -> None:
        """Serve the tokens, and follow the files, until cancelled."""
        await self._serve()
        while True:
            await asyncio.sleep(FILES)
            try:
                own, readers = await asyncio.to_thread(lambda: (self._read_own(), self._read_readers()))
                self._refuse_the_same(own, readers)
            except (OSError, TokenError) as error:
                self._log_trouble(f"{_describe_error(error)}; the previous token stays active")
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
        if self.endpoint.handed_revision:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.endpoint.wait_until_taken(self.endpoint.revision), _LONGEST_WAIT)
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
        found = read_tokens(Path(self._own_file))
        if len(found) != 1:
            raise TokenError(f"{self._own_file}: it has {len(found) or 'no'} tokens, not one")
        return found[0]

    def _read_readers(self) -> frozenset[str]:
        if self._readers_at is None:
            return frozenset()
        path = Path(self._readers_at)
        files = [path]
        if path.is_dir():
            files = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith(".")]
        return frozenset(token for file in files for token in read_tokens(file))

    def _refuse_the_same(self, own: str, readers: frozenset[str]) -> None:
        if own and own in readers:
            raise TokenError(f"{self._readers_at}: a reader has the bridge's own token, which permits writes")

    def _log_trouble(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            log.warning("token reload failed", why=trouble)


def read_tokens(file: Path) -> list[str]:
    """Return the tokens in a file, one on each line. Raises OSError, or TokenError for an invalid one."""
    try:
        lines = read_text(file).splitlines()
        return [checked_token(line) for line in lines if line.strip() and not line.startswith("#")]
    except TokenError as error:
        raise TokenError(f"{file}: {error}") from error
    except UnicodeDecodeError as error:
        raise TokenError(f"{file}: it is not a string") from error


def _describe_error(error: OSError | TokenError) -> str:
    if isinstance(error, OSError):
        return f"the token file {error.filename} cannot be read: {error.strerror}"
    return str(error)
