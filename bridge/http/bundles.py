"""The bundles of modules and of tokens: signed, and served only to OPA."""

from __future__ import annotations

import functools
from pathlib import Path

from aiohttp import web

from bridge.http.listeners import ServeError
from bridge.http.request_guard import (
    Handler,
    Refused,
    WrongTokens,
    bearer_of,
    check_host,
    check_origin,
    is_loopback,
    same,
    unauthorized,
)
from bridge.http.tokens import Tokens
from bridge.opa.config import BUNDLE_NAME, BUNDLE_PATH, TOKENS_NAME, BundleTrust
from bridge.opa.credentials import (
    BundleCredentials,
    CredentialsError,
    default_folder,
    kept_credentials,
    new_credentials,
)
from bridge.policy_loader.activation import BundleEndpoint
from bridge.settings.model import Settings


class Bundles:
    """The endpoints of both bundles. OPA fetches and verifies them by `trust`. Raises ServeError."""

    def __init__(self, settings: Settings) -> None:
        credentials = _credentials(settings)
        self.trust: BundleTrust = credentials.trust
        self.modules = BundleEndpoint(BUNDLE_PATH, functools.partial(credentials.signed, scope=BUNDLE_NAME))
        self.tokens = Tokens(
            settings.opa_token_file,
            settings.opa_readers,
            functools.partial(credentials.signed, scope=TOKENS_NAME),
            made=settings.opa_requires_tokens and settings.opa_url is None,
        )
        self.guard = BundleGuard(credentials.token, local=is_loopback(settings.listen_address[0]))

    def add_to(self, app: web.Application) -> None:
        """Add both endpoints to an application."""
        for endpoint in (self.modules, self.tokens.endpoint):
            endpoint.add_to(app, self.guard)


class BundleGuard:
    """Allows OPA's requests only. `local`: the bridge listens on loopback, which limits the Host."""

    def __init__(self, token: str, *, local: bool) -> None:
        self.wrong_tokens = WrongTokens("bundle")
        self._token = token
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
        # Compared after any number of wrong tokens: OPA shares its address with other clients on this host.
        if given is not None and same(given, self._token):
            return
        if given is not None:
            self.wrong_tokens.note(request)
        raise unauthorized("bundles are only for an OPA configured with `bridge opa-config`")


def _credentials(settings: Settings) -> BundleCredentials:
    """Return the credentials in the settings' folder, or new ones for the bridge's own OPA."""
    if settings.opa_url is None:
        return new_credentials()
    try:
        return kept_credentials(Path(settings.bundle_credentials or default_folder()))
    except CredentialsError as error:
        raise ServeError(str(error)) from error
