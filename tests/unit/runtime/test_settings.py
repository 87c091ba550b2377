from pathlib import Path
from typing import Any

import pytest

from bridge.model.selection import Fields, Selection
from bridge.runtime.settings import Settings, SettingsError, load_settings


def file_of(folder: Path, text: str) -> Path:
    file = folder / "bridge.yaml"
    file.write_text(text)
    return file


def test_nothing_given_means_the_defaults() -> None:
    assert load_settings(environ={}) == Settings()


def test_flags_go_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = file_of(tmp_path, "opa_url: http://file\nlisten: 127.0.0.1:1\nlog_level: error\n")
    environ = {"BRIDGE_LISTEN": "127.0.0.1:2", "BRIDGE_LOG_LEVEL": "warning"}
    found = load_settings(file, {"log_level": "debug", "opa_url": None, "manifests": ()}, environ)
    assert (found.opa_url, found.listen_address, found.log_level) == ("http://file", ("127.0.0.1", 2), "debug")


def test_texts_of_the_environment_become_what_the_setting_is() -> None:
    environ = {
        "BRIDGE_OPA_PORT": "8181",
        "BRIDGE_STATUS_WRITES_PER_SECOND": "2.5",
        "BRIDGE_TYPES": "core/Secret,example.com/Thing",
        "BRIDGE_MANIFESTS": "",
        "BRIDGE_OPA": "/usr/bin/opa",
    }
    found = load_settings(environ=environ)
    assert (found.opa_port, found.status_writes_per_second) == (8181, 2.5)
    assert found.types == ("core/Secret", "example.com/Thing")
    assert found.manifests == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lissten: a:1", "there is no setting 'lissten'; did you mean listen?"),
        ("zzz: 1", "there is no setting 'zzz'; there are manifests, "),
        ("opa_port: many", "`$.opa_port`"),
        ("manifests: examples", "`$.manifests`"),
        ("[1]", "settings are a mapping of names to values"),
        ("a: [", "no YAML: "),
        ("1: 2", "there is no setting 1"),
    ],
)
def test_a_wrong_file_is_one_line_that_says_what_would_do(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings(file_of(tmp_path, text), environ={})
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        load_settings(tmp_path / "nowhere", environ={})
    file = tmp_path / "binary"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="UTF-8"):
        load_settings(file, environ={})


def test_an_empty_file_is_no_settings(tmp_path: Path) -> None:
    assert load_settings(file_of(tmp_path, "# nothing\n"), environ={}) == Settings()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"status_writes_per_second": 0}, "above 0"),
        ({"status_writes_per_second": float("nan")}, "above 0"),
        ({"log_level": "loud"}, "'loud' is none of"),
        ({"log_format": "xml"}, "'xml' is none of"),
        ({"opa_port": 70000}, "70000 is no port"),
        ({"listen": "8282"}, "'8282' is no HOST:PORT"),
        ({"listen": ":8282"}, "':8282' is no HOST:PORT"),
        ({"listen": "a:70000"}, "'a:70000' is no HOST:PORT"),
        ({"types": ["Secret"]}, "'Secret' is no <group>/<Kind>"),
    ],
)
def test_what_no_type_can_say_is_refused(flags: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load_settings(flags=flags, environ={})


def test_an_ipv6_address_has_brackets() -> None:
    assert load_settings(flags={"listen": "[::1]:80"}, environ={}).listen_address == ("::1", 80)


def test_types_may_say_which_objects_and_which_fields(tmp_path: Path) -> None:
    text = """
types:
- apps/Deployment
- type: core/ConfigMap
  version: v1
  namespaces: [shop, infra]
  labelSelector: app=web
  fieldSelector: metadata.name!=x
  drop: [/data/large]
"""
    short, long = load_settings(file_of(tmp_path, text), environ={}).selected_types
    assert (short.type, short.selection, short.fields) == ("apps/Deployment", Selection(), Fields())
    assert long.type == "core/ConfigMap"
    assert long.selection == Selection("v1", ("shop", "infra"), "app=web", "metadata.name!=x")
    assert long.fields == Fields(drop=("/data/large",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("types: [Deployment]", "is no <group>/<Kind>"),
        ("types: [{type: a/B, keep: [/x], drop: [/y]}]", "has keep and drop"),
        ("types: [{type: a/B, drop: [status]}]", "no field to keep or drop"),
        ("types: [{type: a/B, drop: [/metadata/name]}]", "no field to keep or drop"),
        ("types: [a/B, {type: a/B}]", "named twice"),
        ("types: [{type: a/B, selector: x}]", "selector"),
    ],
)
def test_types_that_make_no_sense_are_told(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load_settings(file_of(tmp_path, text), environ={})
