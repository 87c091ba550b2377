"""The chart of an edge: what it gives OPA is enough to answer from a bridge's view."""

import base64
import json
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from bridge.admission.certificates import create_certificate
from hack.manifests.parts import ROOT, one, template
from tests.e2e.test_views import STOREFRONT, Fleet, about, query
from tests.eventually import eventually_blocking

pytestmark = [pytest.mark.long, pytest.mark.needs("helm")]


def test_opa_with_the_files_of_the_chart_answers_from_the_view(
    bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with ExitStack() as stack:
        fleet = Fleet(tmp_path, bridge_path, opa_path, environment, stack)
        certificate = create_certificate(("localhost",), tmp_path)
        settings = tmp_path / "bridge.yaml"
        settings.write_text(f"publish_cert_file: {certificate.certificate}\npublish_key_file: {certificate.key}\n")
        fleet.start_hub("Gateway/infra/public=effective", settings=settings)
        values = {
            "view": "infra.public.effective",
            "url": f"https://localhost:{fleet.address.rpartition(':')[2]}",
            "verificationKey": fleet.credentials.trust.public_key,
            "authority": certificate.authority.decode(),
            "token": fleet.credentials.token,
        }
        objects = template(ROOT / "deploy" / "edge", tmp_path / "helm", values, release="edge")
        places = {"config": one(objects, "ConfigMap", "edge")["data"], "token": one(objects, "Secret", "edge")["data"]}
        places["token"] = {name: base64.b64decode(text).decode() for name, text in places["token"].items()}
        for mount, files in places.items():
            (tmp_path / "mounted" / mount).mkdir(parents=True)
            for name, text in files.items():
                (tmp_path / "mounted" / mount / name).write_text(text)
        config = json.dumps(yaml.safe_load(places["config"]["opa.yaml"]))
        config = config.replace("/etc/edge", str(tmp_path / "mounted")).replace("/var/lib/opa", str(tmp_path / "kept"))
        edge, _ = fleet.start_edge("edge", json.loads(config))
        eventually_blocking(lambda: about(edge))
        storefront = {"targets": [STOREFRONT]}
        assert query(edge, "effective", storefront) == query(fleet.opa_url, "effective", storefront) != []
