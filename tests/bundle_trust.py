"""Credentials that bridges and OPAs of the tests share."""

import functools

from bridge.http.bundles import BundleEndpoint, sign_bundle
from bridge.http.connections import Handler
from bridge.opa.bundle import BUNDLE_NAME, BUNDLE_PATH, Bundle, BundleTrust
from bridge.opa.credentials import BundleCredentials, default_folder, kept_credentials


def shared_credentials() -> BundleCredentials:
    """Those that `pbctl run --opa` and `pbctl admin opa-config` of this run of the tests have."""
    return kept_credentials(default_folder())


def shared_trust() -> BundleTrust:
    """The same, as an OPA's configuration has them."""
    return shared_credentials().trust


def signed_endpoint(bundle: Bundle | None = None) -> BundleEndpoint:
    """An endpoint whose bundles such an OPA accepts."""
    return BundleEndpoint(BUNDLE_PATH, functools.partial(sign_bundle, shared_credentials().key, BUNDLE_NAME), bundle)


def unguarded(handler: Handler) -> Handler:
    """A guard that accepts every request, for tests of the handlers behind it."""
    return handler
