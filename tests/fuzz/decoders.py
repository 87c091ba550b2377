"""Every decoder of foreign input, each as a function of bytes that must return or raise its own error."""

import io
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import msgspec

from bridge.admission.review import ReviewError, annotation_patch, read_review
from bridge.files import STDIN
from bridge.http.request_guard import Refused
from bridge.kube.kube_errors import KubeError
from bridge.kube.listwatch import _changes, _Position, read_event, read_object, read_page
from bridge.model.changes import Change, Rejected, Upserted
from bridge.model.keys import Key, KeyFormatError, is_key, parse_key, pointer, segments_of, url_path
from bridge.model.nesting import MAX_DEPTH, cut, exceeds
from bridge.model.types import ResourceType
from bridge.opa.client import _decode, _read_rejection
from bridge.opa.errors import OpaError
from bridge.opa.transport import Response
from bridge.policy_loader.submissions import DATA_LABEL, _add_documents, read_config_map, read_rego_policy
from bridge.replicator.intake import Pending
from bridge.sources.manifests import ManifestState
from bridge.sources.yaml import UNREADABLE, read_documents
from bridge.web.responses import decoded

THINGS = ResourceType("example.com", "v1", "Thing", "things", namespaced=True)
MAPS = ResourceType("core", "v1", "ConfigMap", "configmaps", namespaced=True)
SEEDS = Path(__file__).parent / "seeds"
LONGEST = 1 << 14  # bytes of an input


def watch_event(data: bytes) -> None:
    """Decode a line of a watch."""
    try:
        found = list(_changes([read_event(data)], THINGS, _Position("1")))
    except KubeError:
        return
    _taken_in(found)


def list_page(data: bytes) -> None:
    """Decode a page of a list."""
    try:
        page = read_page(data, "/things")
    except KubeError:
        return
    items = [read_object(item, MAPS) for item in page.items or ()]
    _taken_in([one if isinstance(one, Rejected) else Upserted(MAPS.id, (one,)) for one in items])


def _taken_in(changes: list[Change]) -> None:
    pending = Pending(lambda _: set())
    for change in changes:
        pending.take_in(change)
    for key, obj in pending.take_out(1000, 1 << 30).items():
        str(key)
        if obj is not None:
            assert not exceeds(msgspec.json.encode({**obj, "metadata": {}}), MAX_DEPTH)
            read_config_map(key, obj, ("*",))
            read_rego_policy(key, obj)


def manifests(data: bytes) -> None:
    """Decode a file of manifests, YAML or JSON."""
    state = ManifestState([STDIN], retried=False)
    state.refresh(io.BytesIO(data))
    for manifest in state.reading.manifests.values():
        str(manifest.identity)
        assert not exceeds(msgspec.json.encode(manifest.object), MAX_DEPTH)
    for trouble in state.reading.troubles:
        assert "\n" not in trouble.message
        assert UNREADABLE not in trouble.message


def policy_data(data: bytes) -> None:
    """Decode the data of a ConfigMap, which is JSON or YAML."""
    metadata = {"name": "one", "namespace": "a", "labels": dict([DATA_LABEL])}
    text = data.decode(errors="replace")
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": text}}
    reading = read_config_map(Key("core", "ConfigMap", "a", "one"), config_map, ("*",))
    assert reading is not None
    if reading.unread:  # what a child process reads
        reading = _add_documents(reading.submission, {"k": list(read_documents(text))})
    assert not any(UNREADABLE in problem.message for problem in reading.submission.problems)
    if not reading.submission.problems:
        msgspec.json.encode(reading.submission.data["a", "one"])


def document_path(data: bytes) -> None:
    """Write names into the path of a document of OPA, and read them again."""
    names = [part.decode(errors="replace") for part in data.split(b"\0") if part] or ["stored"]
    path = pointer(*names)
    assert segments_of(path) == names
    assert [unquote(part) for part in url_path(path).split("/")] == names


def admission_review(data: bytes) -> None:
    """Decode the body of a request to the webhook."""
    try:
        review = read_review(data)
    except ReviewError:
        return
    str((review.key, review.reference, review.name, review.namespace))
    annotation_patch(review, {"a": "b"})
    msgspec.json.encode({"input": review.request})


def key(data: bytes) -> None:
    """Decode the text of a key."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        found = parse_key(text)
    except KeyFormatError:
        assert not is_key(text)
        return
    assert not is_key(text) or str(found) == text


def opa_answer(data: bytes) -> None:
    """Decode the body of OPA's response."""
    str(_read_rejection(Response(500, data, "1")))
    try:
        msgspec.json.encode(_decode(data))
    except OpaError:
        return


def query_body(data: bytes) -> None:
    """Decode the body of a request to the page."""
    try:
        msgspec.json.encode(decoded(data))
    except Refused:
        return


def nesting(data: bytes) -> None:
    """Check and cut JSON by its depth."""
    try:
        whole = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        exceeds(data, 5)
        cut(data, 5)
        return
    assert exceeds(data, 5) == (_depth(whole) > 5)
    assert _depth(msgspec.json.decode(cut(data, 5))) == min(_depth(whole), 5)


def _depth(value: object) -> int:
    """Return the depth of a value."""
    level, depth = [value], 0
    while level := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        watch_event,
        list_page,
        manifests,
        policy_data,
        document_path,
        admission_review,
        key,
        opa_answer,
        query_body,
        nesting,
    )
}
