"""`make manifests`: generate the files below deploy/ that come from the bridge and from the chart."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from bridge.cli.kind_source import KindSource
from bridge.cli.output import to_yaml
from bridge.cli.rbac import read_needs
from bridge.files import authorization_policy
from bridge.opa.executable import say
from bridge.sidecar.permissions import role_objects
from hack.manifests import parts
from hack.manifests.parts import CHART, ROOT, one, template

MANIFESTS = ROOT / "deploy" / "manifests"
OVERLAY = ROOT / "deploy" / "overlays" / "example"
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "policy-bridge", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
}
_MADE = "# Made by `make manifests`.\n"
_HELMS = {"helm.sh/chart", "helm.sh/resource-policy", "app.kubernetes.io/managed-by"}
_BEGIN, _END = "<!-- values: made by `make manifests` -->\n", "<!-- end of values -->"


def chart_files(scratch: Path) -> dict[Path, str]:
    """Return the chart's files from the bridge, by name."""
    made = {
        **parts.copied(),
        "files/rbac.yaml": parts.rbac_part(scratch),
        "files/webhook.yaml": parts.webhook_part(),
        "files/opa.yaml": parts.opa_part(authorization=False),
        "files/opa-guarded.yaml": parts.opa_part(authorization=True),
        "files/authz.rego": authorization_policy(),
        "values.schema.json": parts.schema((CHART / "values.schema.json").read_text(encoding="utf-8")),
        "README.md": _with_table((CHART / "README.md").read_text(encoding="utf-8")),
    }
    return {CHART / name: text for name, text in made.items()}


def rendered_files(scratch: Path) -> dict[Path, str]:
    """Return plain manifests, and the permissions of the example overlay, by file."""
    # Helm's own certificate would be a private key in a public file.
    certificate = {"certificate": {"source": "CertManager"}}
    objects = template(CHART, scratch / "helm", {"crds": {"install": False}, "webhook": certificate})
    configuration = _plain(one(objects, "ConfigMap"))
    settings = scratch / "rendered.yaml"
    settings.write_text(configuration["data"]["bridge.yaml"])
    by_kind: dict[str, list[dict[str, Any]]] = {"namespace": [NAMESPACE]}
    for obj in objects:
        if obj is not configuration:
            by_kind.setdefault(obj["kind"].lower(), []).append(_plain(obj))
    files = {MANIFESTS / f"{kind}.yaml": _file(found) for kind, found in by_kind.items()}
    kustomization = _kustomization(["../crds", *sorted(file.name for file in files)], configuration)
    files[MANIFESTS / "kustomization.yaml"] = _file([kustomization])
    files |= {MANIFESTS / name: _MADE + text for name, text in configuration["data"].items()}
    needed, _ = read_needs(settings, KindSource((str(ROOT / "examples" / "shop"),)))
    rights = role_objects(needed, "policy-bridge", ("policy-bridge", "policy-bridge"))
    files[OVERLAY / "rights.yaml"] = _file([one(rights, "ClusterRole")])
    return files


def stale() -> list[str]:
    """Return the files that differ from newly generated ones."""
    with tempfile.TemporaryDirectory() as scratch:
        made = {**chart_files(Path(scratch)), **rendered_files(Path(scratch))}
    there = {file for folder in (CHART / "files", MANIFESTS) for file in folder.rglob("*") if file.is_file()}
    wrong = {file for file, text in made.items() if not file.is_file() or file.read_text(encoding="utf-8") != text}
    return sorted(str(file.relative_to(ROOT)) for file in wrong | (there - made.keys()))


def main() -> int:
    """Write all files, and remove obsolete ones."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for make in (chart_files, rendered_files):  # the second is rendered of what the first has written
            for file, text in make(scratch).items():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
    for name in stale():
        (ROOT / name).unlink()
        say(f"manifests: removed {name}")
    return 0


def _kustomization(resources: list[str], configuration: dict[str, Any]) -> dict[str, Any]:
    """Return the kustomization. The ConfigMap's name contains a hash of its content, so a change replaces the Pods."""
    metadata = configuration["metadata"]
    generated = {
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "files": sorted(configuration["data"]),
        "options": {"labels": metadata["labels"]},
    }
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
        "configMapGenerator": [generated],
    }


def _plain(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object without the fields that only Helm uses."""
    metadata = obj["metadata"]
    for field in ("labels", "annotations"):
        kept = {name: value for name, value in metadata.get(field, {}).items() if name not in _HELMS}
        metadata.pop(field, None)
        if kept:
            metadata[field] = kept
    if obj["kind"] == "Namespace":  # by the label everything is removed, but what is in these
        metadata.pop("labels")
    if obj["kind"] == "Deployment":
        obj["spec"]["template"]["metadata"]["annotations"].pop("checksum/config")
    return obj


def _file(objects: list[dict[str, Any]]) -> str:
    return _MADE + "---\n".join(to_yaml(obj) for obj in objects)


def _with_table(readme: str) -> str:
    before, _, rest = readme.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{parts.values_table((CHART / 'values.yaml').read_text(encoding='utf-8'))}{_END}{after}"


if __name__ == "__main__":
    sys.exit(main())
