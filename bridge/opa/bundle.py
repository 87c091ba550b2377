"""OPA bundles: Rego modules and data as one archive, always the same bytes; and the configuration to get them."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import tarfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
from collections.abc import Sequence

BUNDLE_NAME = "policy-bridge"  # the bundle's name in OPA's status and provenance
BUNDLE_PATH = "/bundles/policy-bridge.tar.gz"  # where the bridge serves it
TOKENS_NAME = "policy-bridge-tokens"  # the bundle of accepted tokens
TOKENS_PATH = "/bundles/policy-bridge-tokens.tar.gz"
VIEW = "bridge_view"  # the document that states which view an OPA has: `{name, revision, since}`
STATE = "bridge_state"  # the document whose `complete` states that OPA has every object
_MAIN = "system/main"  # OPA's default decision; in ConfigMaps below `bridge`, see `bridge.policy_loader.submissions`
_MASKED = {name: f"/bridge/decision_log/{name.partition('_')[0]}" for name in ("mask_decision", "drop_decision")}
KEY_ID = "policy-bridge"  # of the key that signs bundles, in OPA's configuration
KEY_ALGORITHM = "ES256"
LONG_POLL_SECONDS = 30
POLL_SECONDS = 5  # between two requests of an OPA to storage, which cannot let it wait; at most twice that
EDGE_POLICY = "system/edge"  # the package that authorizes requests to an edge with `--authorization=basic`
LARGEST_EDGE_BODY = 4 << 20  # bytes of a request to an edge, also unpacked
LARGEST_BODY = 64 << 20  # bytes of a request to OPA, also unpacked; a batch of an initial sync has at most half of that

MANIFEST = ".manifest"  # the path of a bundle's manifest in it
SOURCE = "storage"  # the name of a service in OPA's configuration that is not the bridge

# OPA uses long polling only for this Content-Type; otherwise it polls after every delay.
BUNDLE_CONTENT_TYPE = "application/vnd.openpolicyagent.bundles"


# OPA gives decisions an id only while it keeps a decision log: this one holds a single decision and sends it nowhere.
_DECISION_IDS = {
    "service": "bridge",
    "reporting": {"trigger": "manual", "buffer_type": "event", "buffer_size_limit_events": 1},
}


@dataclass(frozen=True, slots=True)
class BundleTrust:
    """The data with which OPA fetches and verifies bundles.

    OPA sends the token itself, or the content of the file `token_path` at each request. `public_key` is PEM; empty if
    OPA gets the key by an argument (`--set-file=keys.policy-bridge.key=FILE`).
    """

    public_key: str = ""
    token: str = field(default="", repr=False)
    token_path: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """Another server with a bundle: its `service` in OPA's configuration, and the bundle's path there."""

    service: Mapping[str, Any]
    resource: str


def opa_config(
    bridge_url: str,
    trust: BundleTrust,
    *,
    decision_ids: bool = False,
    authorization: bool = False,
    system_main: bool = False,
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return OPA's configuration (JSON and YAML alike) for a bridge that serves its bundle at `bridge_url`.

    OPA accepts a bundle only with the signature of the key in `trust`. OPA polls again 1 to 2 s after each response,
    and a response waits up to LONG_POLL_SECONDS for changes. The status plugin is on, so `/v1/status` has the activated
    bundle, or the cause of a rejection. With `decision_ids` each decision has an id, for the audit of admission. With
    `authorization` OPA also fetches its accepted tokens, and limits the size of requests: OPA reads a body before it
    checks the token. With `system_main` OPA answers `POST /` by the package `system` of a ConfigMap, and masks its
    decision log by `system.log` of ConfigMaps and files. `given` is a user's configuration to which this one is added,
    and which it overrides; `system/main`, OPA's default, is no decision of the user's own.
    """
    bearer = {"token_path": trust.token_path} if trust.token_path else {"token": trust.token}
    user = dict(given or {})
    logs = user.get("decision_logs") or (_DECISION_IDS if decision_ids else None)
    logged = {"decision_logs": {**(_MASKED if system_main else {}), **logs}} if logs else {}
    if system_main and str(user.get("default_decision", _MAIN)).strip("/") == _MAIN:
        user["default_decision"] = f"/bridge/{_MAIN}"
    return {
        **user,
        "services": {
            **user.get("services", {}),
            "bridge": {"url": bridge_url.rstrip("/"), "credentials": {"bearer": bearer}},
        },
        "keys": {
            **user.get("keys", {}),
            KEY_ID: {"algorithm": KEY_ALGORITHM, **({"key": trust.public_key} if trust.public_key else {})},
        },
        "bundles": {
            **user.get("bundles", {}),
            BUNDLE_NAME: _bundle(BUNDLE_NAME, BUNDLE_PATH),
            **({TOKENS_NAME: _bundle(TOKENS_NAME, TOKENS_PATH)} if authorization else {}),
        },
        "status": {**user.get("status", {}), "prometheus": True},
        **logged,
        **(_limit_bodies(LARGEST_BODY) if authorization else {}),
    }


def view_path(name: str) -> str:
    """Return where a bridge serves the bundle of a view."""
    return f"/bundles/{name}.tar.gz"


def edge_config(
    hub_url: str, trust: BundleTrust, view: str, ca_file: str = "", source: Source | None = None
) -> dict[str, Any]:
    """Return the configuration of an OPA that gets all its data and Rego as one view: from a bridge or another source.

    OPA keeps the last valid bundle in its `persistence_directory`, and starts with it if the server is away. It reports
    its status to the bridge at `hub_url`, unless that is empty, with the variable HOSTNAME as its name. `ca_file` has
    the authorities (PEM) of the servers' certificates, instead of the system's. With `--authorization=basic` it answers
    only what the policy in the view allows.
    """
    config = opa_config(hub_url, trust)
    bundle = {**_bundle(view, view_path(view)), "persist": True}
    services = config["services"] if hub_url else {}
    status: dict[str, Any] = {"service": "bridge"} if hub_url else {}
    if source is not None:
        services = {**services, SOURCE: source.service}
        polling = {"min_delay_seconds": POLL_SECONDS, "max_delay_seconds": 2 * POLL_SECONDS}
        bundle |= {"service": SOURCE, "resource": source.resource, "polling": polling}
    tls = {"tls": {"ca_cert": ca_file}} if ca_file else {}
    return {
        **config,
        "services": {name: {**service, **tls} for name, service in services.items()},
        "labels": {"view": view, "edge": "${HOSTNAME}"},
        "bundles": {BUNDLE_NAME: bundle},
        "status": {**status, "prometheus": True},
        "default_authorization_decision": f"{EDGE_POLICY}/allow",
        **_limit_bodies(LARGEST_EDGE_BODY),
    }


def opa_arguments(config: str, policy: str, listen: Sequence[str]) -> list[str]:
    """Return the arguments of an `opa` that requires tokens: files of its configuration and policy, its addresses."""
    addresses = [f"--addr={address}" for address in listen]
    return [
        *("run", "--server", *addresses, "--unix-socket-perm=600"),
        *("--authentication=token", "--authorization=basic"),
        *(f"--config-file={config}", "--skip-version-check", policy),
    ]


def _limit_bodies(most: int) -> dict[str, Any]:
    return {"server": {"decoding": {"max_length": most, "gzip": {"max_length": most}}}}


def edge_arguments(config: str, address: str) -> list[str]:
    """Return the arguments of an `opa` that is an edge with a file of its configuration, at one address."""
    return [
        *("run", "--server", f"--addr={address}", "--authorization=basic"),
        *(f"--config-file={config}", "--skip-version-check"),
    ]


def _bundle(name: str, path: str) -> dict[str, Any]:
    polling = {"min_delay_seconds": 1, "max_delay_seconds": 2, "long_polling_timeout_seconds": LONG_POLL_SECONDS}
    return {"service": "bridge", "resource": path, "polling": polling, "signing": {"keyid": KEY_ID, "scope": name}}


@dataclass(frozen=True)
class Bundle:
    """A bundle in OPA's format.

    `files` are its files by path, `revision` identifies their content (and is the ETag), `roots` are the parts of
    `data` that it owns, as slash-separated paths. The modules at the paths `old` are Rego v0.
    """

    files: Mapping[str, bytes] = field(repr=False)
    revision: str
    roots: tuple[str, ...]
    old: tuple[str, ...] = ()

    @functools.cached_property
    def content(self) -> bytes:
        """Return the archive (tar.gz), without a signature."""
        return archive_of(self.files)


def build_bundle(
    modules: Mapping[str, str], data: Mapping[str, Any], roots: Iterable[str], old: Iterable[str] = ()
) -> Bundle:
    """Put `modules` (path in the bundle, such as `bridge/status/status.rego`, to text) and `data` into one bundle.

    Those at the paths `old` are Rego v0, all others Rego v1.
    `roots` have slashes, as in OPA (names may contain dots). `revision` follows from the content: equal content has an
    equal revision. The bytes depend on nothing else: no time, no order of the mappings.

    Raises ValueError for a module path that is absolute, leaves the bundle, or does not end with `.rego`.
    """
    for path in modules:
        if not path.endswith(".rego") or path.startswith("/") or ".." in path.split("/"):
            raise ValueError(f"{path!r} is not a path of a module in a bundle: write folder/name.rego")
    owned = tuple(sorted({root.strip("/") for root in roots}))
    files = {path: text.encode() for path, text in sorted(modules.items())}
    files["data.json"] = msgspec.json.encode(data, order="deterministic")
    before_v1 = tuple(sorted(old))
    revision = _digest(files, (*owned, *before_v1))
    return Bundle({MANIFEST: _manifest(revision, owned, before_v1), **files}, revision, owned, before_v1)


def build_view_bundle(
    rules: Bundle, documents: Mapping[str, Any], view: str, now: str, number: int | None = None
) -> Bundle:
    """Return the bundle of a view: the files of the bundle `rules`, and `documents` by their names.

    The document STATE states that it is complete: OPA activates the whole bundle at once.
    The revision follows from the content. The document VIEW has it, with the time `now` and the `number`, which the
    revision ignores: the number of each bundle is higher than those before, so a lower one shows a rollback.
    """
    all_documents = {**documents, STATE: {"complete": True}}
    owned = tuple(sorted({*rules.roots, *all_documents, VIEW}))
    files = {path: content for path, content in rules.files.items() if path != MANIFEST}
    for name, document in sorted(all_documents.items()):
        files[f"{name}/data.json"] = msgspec.json.encode(document, order="deterministic")
    revision = _digest({**files, VIEW: view.encode()}, (*owned, *rules.old))
    about = {"name": view, "revision": revision, "since": now, **({} if number is None else {"number": number})}
    files[f"{VIEW}/data.json"] = msgspec.json.encode(about, order="deterministic")
    return Bundle({MANIFEST: _manifest(revision, owned, rules.old), **files}, revision, owned, rules.old)


def move_below(bundle: Bundle, root: str) -> Bundle:
    """Return a bundle of data with all of it below the document `root`, a slash-separated path, which it owns."""
    files = {f"{root}/{path}": content for path, content in bundle.files.items() if path != MANIFEST}
    return Bundle({MANIFEST: _manifest(bundle.revision, (root,)), **files}, bundle.revision, (root,))


def _manifest(revision: str, roots: tuple[str, ...], old: Iterable[str] = ()) -> bytes:
    about = {"revision": revision, "roots": list(roots), **rego_versions(old)}
    return msgspec.json.encode(about, order="deterministic")


def rego_versions(old: Iterable[str]) -> dict[str, Any]:
    """Return the part of a manifest by which OPA reads the modules at the paths `old` as Rego v0, and others as v1.

    OPA would use the version of its own options, such as --v0-compatible.
    """
    found = {name: 0 for path in old for name in (path, f"/{path}")}  # as OPA names files of archives, and of folders
    return {"rego_version": 1, **({"file_rego_versions": found} if found else {})}


def _digest(files: Mapping[str, bytes], roots: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for part in ("\0".join(roots).encode(), *(item for path, text in files.items() for item in (path.encode(), text))):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:16]


def archive_of(files: Mapping[str, bytes]) -> bytes:
    """Return files by path as tar.gz: the same bytes for the same files."""
    plain = io.BytesIO()
    # The format that supports names of any length.
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)  # its time is 0 and its owner empty by default
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), compresslevel=1, mtime=0)
