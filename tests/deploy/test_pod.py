"""Containers of the rendered Pod on this machine, asked as a kubelet and as readers ask them."""

import ssl
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from hack.manifests.parts import CHART, template
from tests.deploy.pod import Pod

pytestmark = pytest.mark.long

PATIENCE = 300.0  # seconds
AUTHORITY = trustme.CA()
SERVED = AUTHORITY.issue_cert("127.0.0.1")
TOKENS = {"opa-token/token": "token-of-the-bridge-itself", "opa-readers/gateway": "token-of-a-reader-of-opa"}
TLS = {
    "opa-tls/tls.crt": SERVED.cert_chain_pems[0].bytes().decode(),
    "opa-tls/tls.key": SERVED.private_key_pem.bytes().decode(),
}
READERS = {"enabled": True, "bridgeTokenSecret": "own", "tokensSecret": "theirs"}
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


@pytest.mark.parametrize(
    "readers",
    [{}, READERS, {**READERS, "tlsSecret": "opa-tls"}],
    ids=["no readers", "readers", "readers by TLS"],
)
def test_the_probes_of_opa_succeed(readers: Mapping[str, Any], tmp_path: Path) -> None:
    with _opa(readers, tmp_path) as pod:
        assert {probe: pod.probe("opa", probe) for probe in PROBES} == dict.fromkeys(PROBES, True), pod.log()


def test_readers_are_answered_over_tls_where_there_is_a_certificate(tmp_path: Path) -> None:
    trusting = ssl.create_default_context(cadata=AUTHORITY.cert_pem.bytes().decode())
    with _opa({**READERS, "tlsSecret": "opa-tls"}, tmp_path) as pod:
        url = f"https://127.0.0.1:{pod.opa}/health"
        with urllib.request.urlopen(url, timeout=30, context=trusting) as answer:
            assert answer.status == 200


@contextmanager
def _opa(readers: Mapping[str, Any], tmp_path: Path) -> Iterator[Pod]:
    """The Pod's OPA alone, as soon as it answers its startup probe or PATIENCE is over."""
    objects = template(CHART, tmp_path / "helm", {"opa": {"readers": dict(readers)}})
    with tempfile.TemporaryDirectory(prefix="pod-") as folder:
        pod = Pod(objects, Path(folder), "", Path(folder), {**TOKENS, **TLS})
        pod.start("opa")
        try:
            deadline = time.monotonic() + PATIENCE
            while not pod.probe("opa", "startupProbe") and time.monotonic() < deadline:
                assert pod.processes["opa"].poll() is None, pod.log()
                time.sleep(0.1)
            yield pod
        finally:
            pod.kill()
