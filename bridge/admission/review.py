"""AdmissionReview (admission.k8s.io/v1): parsing, and responses from OPA's results. Pure.

The rules:
- Errors of a decision, and denials of the shipped rules, deny the request, whatever else fails.
- If a decision cannot be made, the request is denied if any policy exists (closed), otherwise admitted (open); the
  response reports it in both cases. The bridge's own resources are admitted even then, so users can fix policies.
- Warnings are part of admissions and denials.
"""

import base64
import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bridge.model.keys import CLUSTER, CORE, Key, pointer
from bridge.model.nesting import (
    MAX_DEPTH,
    MAX_MESSAGE_DEPTH,
    NestingError,
    as_mapping,
    cut,
    decode,
    exceeds,
    is_too_deep,
)
from bridge.model.placement_decision import Decision
from bridge.model.types import GATEWAY_API

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
_LONGEST_UID = 253  # characters; the API server's has 36, and every response repeats it
_LONGEST_SHOWN = 1024  # characters of a name in errors and the log
OURS = "policybridge.io"  # the group of the bridge's own resources, which no policy may block
MUTATING_PATH = "/admission"
VALIDATING_PATH = "/validation"


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of a review: its `budget` in seconds, a `verified` client certificate, and whether it has `patches`."""

    budget: float
    verified: bool = False
    patches: bool = True


Review = Callable[[bytes, Terms], Awaitable[bytes]]


class ReviewError(Exception):
    """A review that cannot be answered: the HTTP `status` of the response, and a text with the cause."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Kind(msgspec.Struct):
    kind: str
    group: str | None = None
    version: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    annotations: dict[str, Any] | None = None
    labels: Any = None


class _Subject(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _Metadata | None = None


class _Request(msgspec.Struct, rename="camel"):
    uid: str
    kind: _Kind
    operation: str
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    dry_run: bool | None = None
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class _Review(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: msgspec.Raw = msgspec.Raw(b"null")


_reviews = msgspec.json.Decoder(_Review)
_requests = msgspec.json.Decoder(_Request)
_subjects = msgspec.json.Decoder(_Subject)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_object = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_NULL = b"null"
_CONFIG_MAP, _REGO_POLICY = ("", "ConfigMap"), ("policybridge.io", "RegoPolicy")
AUTHOR_LABELS = ("openpolicyagent.org/policy", "openpolicyagent.org/data")  # of ConfigMaps with modules or data
_API, _KIND = API_VERSION.encode(), KIND.encode()


class ReviewRequest:
    """One request: its AdmissionRequest `request` and the whole `review` as JSON text, and its object, the `subject`.

    The subject is the new object, or for a DELETE the old one. `annotations` are the subject's, None if it has none;
    `patched` means that the response may change the object. `has_another_object` means that it is about a
    subresource, or a Binding, of another object. `flaw` is the reason why no decision is possible; empty if
    one is.
    """

    def __init__(
        self, request: msgspec.Raw, about: _Request, subject: msgspec.Raw, read: _Subject, flaw: str = ""
    ) -> None:
        self.request = request
        self.review = msgspec.Raw(b'{"apiVersion":"%s","kind":"%s","request":%s}' % (_API, _KIND, bytes(request)))
        self.flaw = flaw
        self.subject = subject
        self.uid = about.uid
        self.operation = about.operation
        self.sub_resource = about.sub_resource
        self.dry_run = bool(about.dry_run)
        self.subject_given = bytes(subject) != _NULL
        self.has_metadata = read.metadata is not None
        metadata = read.metadata or _Metadata()
        self.annotations = metadata.annotations
        self.patched = bytes(about.object) != _NULL and not about.sub_resource
        # A Scale, a Binding or a status has nothing for a placement decision.
        binds = (about.kind.group or "", about.kind.kind) == ("", "Binding")
        scales = bool(about.sub_resource) and (about.kind.group, about.kind.kind) == ("autoscaling", "Scale")
        reports = about.operation == "UPDATE" and about.sub_resource in {"status", "finalize"}
        self.is_beside_object = scales or binds or reports
        self.has_another_object = bool(about.sub_resource) or binds
        self.name = metadata.name or about.name or metadata.generate_name
        self._is_named = bool(metadata.name or about.name)
        self.namespace = metadata.namespace or about.namespace
        self._kind = about.kind
        self._metadata = metadata
        self._before = about.old_object
        before = bytes(about.old_object)
        is_old = (self.group, about.kind.kind) == _CONFIG_MAP and before not in {_NULL, bytes(subject)}
        former = decode(about.old_object, _subjects).metadata if is_old else None
        labels = [as_mapping(one.labels) for one in (metadata, former) if one]
        self._labelled = any(label in one for one in labels for label in AUTHOR_LABELS)

    @property
    def group(self) -> str:
        """Return the object's API group, empty for the core group."""
        return self._kind.group or ""

    @property
    def type_id(self) -> str:
        """Return the object's type, `<group>/<Kind>`."""
        return f"{self._kind.group or CORE}/{self._kind.kind}"

    def deletes_of_the_hierarchy(self, policy_kinds: Collection[str]) -> bool:
        """Return whether it deletes what policies are at, or what takes them along: only guardrails decide about it."""
        kind = self.type_id
        return self.operation == "DELETE" and (
            self.group in {GATEWAY_API, "apiextensions.k8s.io"}
            or kind in {"core/Namespace", "core/Service"}
            or kind in policy_kinds
            or kind.endswith("Policy")
        )

    def request_after(self, admitted: Mapping[str, Any]) -> msgspec.Raw:
        """Return the AdmissionRequest with changes that OPA may not have yet, for `data.bridge.v1.admission`."""
        fields = decode(self.request, _fields)
        return msgspec.Raw(msgspec.json.encode({**fields, "admitted": admitted}))

    @property
    def change(self) -> dict[str, list[Any]]:
        """Return what it changes, in the form of a query's `changes`; nothing for an object without a name yet."""
        if not self._is_named:
            return {}
        if self.operation == "DELETE":
            return {"delete": [str(self.parsed_key)]}
        subject = decode(self.subject, _object) or {}
        given = {name: value for name, value in (("name", self.name), ("namespace", self.namespace)) if value}
        metadata = decode(subject.get("metadata", msgspec.Raw(b"{}")), _object) or {}
        return {"upsert": [{**subject, "metadata": {**metadata, **given}}]}

    @property
    def removes_modules(self) -> bool:
        """Return whether it deletes an object that may have modules of a policy author."""
        return self.operation == "DELETE" and (self.group, self._kind.kind) in {_CONFIG_MAP, _REGO_POLICY}

    def writes_modules(self, namespaces: Collection[str]) -> bool:
        """Return whether it writes an object with modules of an author: of ConfigMaps in `namespaces` (`*`: any)."""
        if self.operation not in {"CREATE", "UPDATE"} or not self.patched:
            return False
        if (self.group, self._kind.kind) == _CONFIG_MAP:
            return self._labelled and not {"*", self.namespace}.isdisjoint(namespaces)
        return (self.group, self._kind.kind) == _REGO_POLICY

    @property
    def keeps_modules(self) -> bool:
        """Return whether it updates an object of an author and keeps its labels and its content, as statuses do."""
        if self.operation != "UPDATE" or _NULL in {bytes(self.subject), bytes(self._before)}:
            return False
        return _content(self.subject) == _content(self._before)

    @property
    def parsed_key(self) -> Key:
        """Return the object's key in its parts."""
        return Key(self.group or CORE, self._kind.kind, self.namespace or CLUSTER, self.name)

    @property
    def what(self) -> str:
        """Return what it does, and with which part of an object."""
        part = shortened(self.sub_resource)
        return f"{shortened(self.operation)} of {part}" if part else shortened(self.operation)

    @property
    def key(self) -> str:
        """Return the object's key."""
        return f"{self.type_id}/{self.namespace or '-'}/{self.name or '-'}"

    @property
    def reference(self) -> dict[str, Any]:
        """Return the identifying fields of the object, in the form of an object."""
        version = f"{self._kind.group}/{self._kind.version}" if self._kind.group else self._kind.version
        parts = {"name": self.name, "namespace": self.namespace, "uid": self._metadata.uid}
        return {
            "apiVersion": version,
            "kind": self._kind.kind,
            "metadata": {name: value for name, value in parts.items() if value},
        }


def _content(obj: msgspec.Raw) -> dict[str, msgspec.Raw]:
    """Return the fields of an object besides metadata and status, and its labels."""
    fields = decode(obj, _object) or {}
    metadata = decode(fields.get("metadata", msgspec.Raw(_NULL)), _object) or {}
    others = {name: value for name, value in fields.items() if name not in {"metadata", "status"}}
    return {**others, "": metadata.get("labels", msgspec.Raw(_NULL))}


def read_review(body: bytes) -> ReviewRequest:
    """Parse an AdmissionReview. Raises ReviewError with status 400 for an invalid one, or one of another version.

    An old object that is too deep is cut, so users can fix or delete it; anything else that is too deep is a flaw.
    """
    try:
        _refuse_other_text(body)
        deep = exceeds(body, MAX_DEPTH + 2)  # below the review and the request
        if deep and exceeds(body, MAX_MESSAGE_DEPTH):
            body = cut(body, MAX_MESSAGE_DEPTH + 1)  # one more, so it is still too deep
        review = decode(body, _reviews)
        if review.kind != KIND or not review.api_version:
            found = f"apiVersion {shortened(review.api_version)!r}, kind {shortened(review.kind)!r}"
            raise ReviewError(400, f"this is not an {KIND}: {found}")
        if review.api_version != API_VERSION:
            raise ReviewError(
                400,
                f"{shortened(review.api_version)} is not supported: set admissionReviewVersions: [v1] in the webhook's "
                f"configuration, for {API_VERSION}",
            )
        if bytes(review.request) == _NULL:
            raise ReviewError(400, f"the {KIND} has no request")
        about = decode(review.request, _requests)
        if len(about.uid) > _LONGEST_UID:
            raise ReviewError(
                400, f"the uid of the request has {len(about.uid)} characters: {_LONGEST_UID} is the most"
            )
        flaw = _flaw_of(review.request) if deep else ""
    except msgspec.DecodeError as error:
        raise ReviewError(400, f"this is not a complete {KIND}: {error}") from error
    subject = about.old_object if bytes(about.object) == _NULL else about.object
    if bytes(subject) == _NULL:
        return ReviewRequest(review.request, about, subject, _Subject(), flaw)
    try:
        return ReviewRequest(review.request, about, subject, decode(subject, _subjects), flaw)
    except msgspec.DecodeError as error:
        raise ReviewError(400, f"the object of the request is not a Kubernetes object: {error}") from error


def _refuse_other_text(body: bytes) -> None:
    """Raise msgspec.DecodeError for a body that is not a review, before measuring its depth, which takes longer."""
    with contextlib.suppress(NestingError):
        decode(body, _reviews)


def _flaw_of(request: msgspec.Raw) -> str:
    """Return the part of a request that is too deep, without its old object; empty if there is none."""
    most = MAX_MESSAGE_DEPTH - 2  # below the review and the request
    for name, value in decode(request, _fields).items():
        if name == "oldObject":
            continue
        # The bound for an object is the same as in replication.
        if is_too_deep(decode(value, _object) or {}) if name == "object" else exceeds(bytes(value), most):
            return f"request.{shortened(name)} is too deep: {NestingError(MAX_DEPTH)}"
    return ""


def patch_of(review: ReviewRequest, annotations: Mapping[str, str], more: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return the JSON Patch of a decision: its annotations, then its own operations."""
    return [*annotation_patch(review, annotations), *more]


def annotation_patch(review: ReviewRequest, wanted: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the JSON Patch (RFC 6902) that adds these annotations to those of the object."""
    if not wanted:
        return []
    if not review.has_metadata:
        return [{"op": "add", "path": "/metadata", "value": {"annotations": dict(wanted)}}]
    if review.annotations is None:
        return [{"op": "add", "path": "/metadata/annotations", "value": dict(wanted)}]
    # An `add` to a member that exists replaces it.
    return [
        {"op": "add", "path": pointer("metadata", "annotations", name), "value": value}
        for name, value in wanted.items()
    ]


def answer(
    uid: str,
    *,
    patch: list[dict[str, Any]] | None = None,
    denied: tuple[int, str, str] | None = None,
    warnings: tuple[str, ...] = (),
    audit: Mapping[str, str] | None = None,
) -> bytes:
    """Return an AdmissionReview that answers the request `uid`. `denied` is the status's code, reason and message."""
    response: dict[str, Any] = {"uid": uid, "allowed": denied is None}
    if denied is not None:
        response["status"] = {"code": denied[0], "reason": denied[1], "message": denied[2]}
    elif patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(msgspec.json.encode(patch)).decode()
    if warnings:
        response["warnings"] = list(warnings)
    if audit:
        response["auditAnnotations"] = dict(audit)
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def shortened(text: str) -> str:
    """Return a text from a client, cut to the maximum length in errors and the log."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


LONGEST_WARNING = 256  # characters; the API server may cut longer ones
ALL_WARNINGS = 4096  # characters of all warnings together; the API server drops the rest
LONGEST_MESSAGE = 4096
_FORBIDDEN = (403, "Forbidden")
_UNAVAILABLE = (503, "ServiceUnavailable")


@dataclass(frozen=True, slots=True)
class AdmissionVerdict:
    """`outcome` is one of allowed, denied, failed-open, failed-closed; `denied` is a status's code, reason, message."""

    outcome: str
    denied: tuple[int, str, str] | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    patches: tuple[Mapping[str, Any], ...] = ()


def verdict(
    decisions: Iterable[Decision], failures: tuple[str, ...], open_because: str, unpatched: str = ""
) -> AdmissionVerdict:
    """Return the verdict on a request from its decisions and the reasons of failed ones (`failures`).

    `open_because` is the reason to admit a request despite failures; empty: failures deny it. `unpatched` is what the
    request does, if patches cannot apply to it.
    """
    made = list(decisions)
    warnings = [warning for decision in made for warning in decision.warnings]
    errors = [error for decision in made for error in decision.errors]
    if errors:
        return AdmissionVerdict("denied", (*_FORBIDDEN, _message("; ".join(errors))), warnings=fitted(warnings))
    why = "; ".join(failures)
    if failures and not open_because:
        text = f"no decision could be made, and requests are denied while policies exist: {why}"
        return AdmissionVerdict("failed-closed", (*_UNAVAILABLE, _message(text)), warnings=fitted(warnings))
    if failures:
        warnings.insert(0, f"policy-bridge: admitted without a decision, {open_because}: {why}")
    annotations = {name: value for decision in made for name, value in decision.annotations.items()}
    patches = tuple(operation for decision in made for operation in decision.patches)
    if patches and unpatched:
        text = f"policy-bridge: the decision's patches are left out: they are for the whole object, not for {unpatched}"
        warnings, patches = [text, *warnings], ()
    return AdmissionVerdict("failed-open" if failures else "allowed", None, annotations, fitted(warnings), patches)


def fitted(warnings: Iterable[str]) -> tuple[str, ...]:
    """Return warnings within the API server's limits: one line each, limited in length and number."""
    lines = [_one_line(warning, LONGEST_WARNING) for warning in warnings]
    kept: list[str] = []
    room = ALL_WARNINGS - LONGEST_WARNING  # for the number of omitted ones
    for number, line in enumerate(lines):
        if len(line) > room:
            kept.append(f"and {len(lines) - number} more warnings")
            break
        kept.append(line)
        room -= len(line)
    return tuple(kept)


def _message(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 1]}…"


def _one_line(text: str, longest: int) -> str:
    # The API server drops a warning with control characters.
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
