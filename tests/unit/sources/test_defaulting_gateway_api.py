from pathlib import Path

import pytest

from bridge.sources import defaults
from bridge.sources.defaults import load_defaults
from hack.tools.crd_defaults import extract_defaults, render


def test_the_shipped_defaults_are_in_step_with_the_crds(gateway_api_crds: Path) -> None:
    shipped = Path(defaults.__file__).with_name("gateway_api_defaults.json").read_text(encoding="utf-8")
    assert render(extract_defaults(gateway_api_crds)) == shipped


def test_every_field_of_the_standard_channel_has_the_same_default_in_the_experimental_one(
    gateway_api_crds: Path,
) -> None:
    shipped = load_defaults().kinds
    for type_id, kind in extract_defaults(gateway_api_crds, "standard").kinds.items():
        assert is_part(kind.schema, shipped[type_id].schema), type_id


def test_a_folder_without_crds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are no CRDs in"):
        extract_defaults(tmp_path)


def is_part(part: object, whole: object) -> bool:
    """Whether `whole` has all that `part` has."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and is_part(value, whole[name]) for name, value in part.items())
    return part == whole
