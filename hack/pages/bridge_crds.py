"""The bridge's own CRDs, field by field, in the page that lists them."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from bridge.files import crds_root


def crds_page(page: str) -> str:
    """Return the page with the current sections."""
    documents = [
        document
        for file in sorted(crds_root().glob("*.yaml"))
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if document
    ]
    return page.partition("\n## ")[0] + "".join(_crd(document["spec"]) for document in documents)


def _crd(spec: Mapping[str, Any]) -> str:
    names = spec["names"]
    short = ", ".join(f"`{name}`" for name in names.get("shortNames", ()))
    text = f"\n## {names['kind']}\n\n"
    for version in spec["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        text += f"`{spec['group']}/{version['name']}`, {spec['scope'].lower()}, `{names['plural']}`"
        text += f" ({short})" if short else ""
        text += ". " + _line(schema.get("description", "")) + "\n\n| field | type | description |\n|---|---|---|\n"
        text += "".join(_rows(schema, ""))
        rules = schema.get("x-kubernetes-validations", ())
        text += "".join(f"\n- {_line(rule.get('message', rule['rule']))}" for rule in rules) + ("\n" if rules else "")
        shown = version.get("additionalPrinterColumns", ())
        columns = ", ".join(f"{column['name']} (`{column['jsonPath']}`)" for column in shown)
        text += f"\n`kubectl get` shows {columns}.\n" if columns else ""
    return text


def _rows(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    required = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        if not path and name in {"apiVersion", "kind", "metadata"}:
            continue
        place = f"{path}.{name}" if path else name
        about = _line(field.get("description", ""))
        notes = ["Required"] if name in required else []
        notes += [f"One of {', '.join(f'`{value}`' for value in field['enum'])}"] if "enum" in field else []
        notes += [f"Default: `{field['default']}`"] if "default" in field else []
        yield f"| `{place}` | {_type(field)} | {' '.join(filter(None, [about, *(f'{note}.' for note in notes)]))} |\n"
        inner, suffix = field, ""
        while inner.get("type") == "array":
            inner, suffix = inner.get("items", {}), suffix + "[]"
        if isinstance(inner.get("additionalProperties"), dict):
            inner, suffix = inner["additionalProperties"], suffix + ".*"
        yield from _rows(inner, place + suffix)


def _type(field: Mapping[str, Any]) -> str:
    if field.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    return str(field.get("type", "any"))


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
