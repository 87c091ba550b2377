from pathlib import Path
from typing import Any

import pytest

from bridge.model.types import Fields, Selection
from bridge.settings.loading import SettingsError, load, load_settings
from bridge.settings.model import Settings, settings_schema


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


def test_texts_of_the_environment_become_values_of_the_type_of_the_setting() -> None:
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
        ("lissten: a:1", "unknown setting 'lissten'; did you mean listen?"),
        ("zzz: 1", "unknown setting 'zzz'; known: manifests, "),
        ("opa_port: many", "bridge.yaml:1: opa_port: expected an integer or nothing, got a string"),
        ("manifests: examples", "manifests: expected a list, got a string"),
        ("[1]", "settings are a mapping of names to values"),
        ("a: [", "invalid YAML: "),
        ("listen: !!timestamp {!!value x: y}", "bridge.yaml:1: YAML that JSON cannot represent: a timestamp "),
        ("listen: 2001-13-45", "'2001-13-45' is not HOST:PORT"),
        ("".join(f"{n}: &{n} [{f'*{n - 1},' * 9 if n else 1}]\n" for n in range(9)), "aliases expand to more than"),
        ("1: 2", "unknown setting '1'"),
        ("listen: a:1\n---\nlisten: a:2", "settings are a mapping of names to values"),
        ("allowed_builtins: [http.sent]", "allowed_builtins: 'http.sent' is not one of http.send, "),
    ],
)
def test_an_invalid_file_is_one_line_with_the_valid_form(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings(file_of(tmp_path, text), environ={})
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_missing_or_no_text_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        load_settings(tmp_path / "nowhere", environ={})
    file = tmp_path / "binary"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="UTF-8"):
        load_settings(file, environ={})


def test_an_empty_file_is_not_settings(tmp_path: Path) -> None:
    assert load_settings(file_of(tmp_path, "# nothing\n"), environ={}) == Settings()


def test_an_ipv6_address_has_brackets() -> None:
    assert load_settings(flags={"listen": "[::1]:80"}, environ={}).listen_address == ("::1", 80)


def test_types_may_select_objects_and_fields(tmp_path: Path) -> None:
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
        ("types: [Deployment]", "is not <group>/<Kind>"),
        ("types: [{type: a/B, keep: [/x], drop: [/y]}]", "has keep and drop"),
        ("types: [{type: a/B, drop: [status]}]", "not a field to keep or drop"),
        ("types: [{type: a/B, drop: [/metadata/name]}]", "not a field to keep or drop"),
        ("types: [a/B, {type: a/B}]", "listed twice"),
        ("types: [{type: a/B, selector: x}]", "selector"),
        ("placement: [Deployment]", "is not <group>/<Kind>"),
        ("placement: [apps/Deployment, apps/Deployment]", "placement: apps/Deployment is listed twice"),
        (
            "placement: [{type: apps/Deployment, mode: write}]",
            "placement.mode: 'write' is not one of Off, Report, Write",
        ),
        ("placement: [{type: apps/Deployment, mode: On}]", "one of Off, Report, Write"),
        ("decision: 'a b'", "is not a decision"),
        ("placement_writes_per_second: 0", "must be above 0"),
        ("placement_most_patches: 0", "must be above 0"),
        ("publish: [everything]", "publish: 'everything' is not a view: write all, GatewayClass/NAME, "),
        ("publish: [all, all]", "two views have the name all"),
        ("publish: [{name: a}]", "publish: a needs one of gateway, gatewayClass and namespaces"),
        ("publish: [{name: a, gateway: b/c, gatewayClass: d}]", "publish: a needs one of"),
        ("publish: [{name: a, gateway: b}]", "'b' is not a Gateway: write NAMESPACE/NAME"),
        ("publish: [{name: A b, gatewayClass: c}]", "'A b' is not a name of a view"),
        ("publish: [{name: a, gatewayClass: c, types: [Pod]}]", "'Pod' is not <group>/<Kind>"),
        ("publish: [{name: a, namespaces: {labels: {}}}]", "unknown field 'labels'"),
        (
            "publish: [{name: a, namespaces: {matchExpressions: [{key: a, operator: Is}]}}]",
            "'Is' is not one of In, NotIn, Exists, DoesNotExist",
        ),
        ("publish: [cluster]", "the view cluster needs the setting cluster, which names it"),
        ("{publish: [cluster, cluster], cluster: a}", "two views have the name cluster.a"),
        ("publish_to: [s3://fleet/east]", "publish_to needs publish, which names the views"),
        (
            "{publish: [all], publish_to: [ftp://a/b]}",
            "'ftp://a/b' is not a destination: write s3://BUCKET/PREFIX, ",
        ),
        (
            "{publish: [all], publish_to: [s3://ab/c]}",
            "'s3://ab/c': the name of a bucket has 3 to 63 lowercase letters",
        ),
        ("{publish: [all], publish_to: [s3://fleet]}", "'s3://fleet' is not a destination"),
        ("{publish: [all], publish_to: ['s3://fleet/a%20b']}", "is not a destination"),
        ("{publish: [all], publish_to: ['s3://fleet/a/../b']}", "is not a destination"),
        ("{publish: [all], publish_to: ['s3://user:secret@fleet/a']}", "is not a destination"),
        ("{publish: [all], publish_to: ['s3://fleet/a?endpoint=http://10.0.0.1']}", "the endpoint must be https"),
        ("{publish: [all], publish_to: [gs://fleet]}", "'gs://fleet' is not a destination"),
        ("{publish: [all], publish_to: ['gs://fleet/a?region=b']}", "is not a destination"),
        ("{publish: [all], publish_to: [gs://Fleet/a]}", "'gs://Fleet/a': the name of a bucket has 3 to 222"),
        ("{publish: [all], publish_to: [az://fleet/a]}", "'az://fleet/a' is not a destination"),
        ("{publish: [all], publish_to: ['az://a--b/c?account=store']}", "the name of a container has 3 to 63"),
        (
            "{publish: [all], publish_to: ['az://fleet/a?account=my-store']}",
            "a storage account has 3 to 24",
        ),
        (
            "{publish: [all], publish_to: ['az://fleet/a?account=s01&endpoint=http://10.0.0.1']}",
            "endpoint must be https",
        ),
        ("{publish: [all], publish_to: ['abfss://fleet@store.example.com/a']}", "is not a destination"),
        (
            "{publish: [all], publish_to: ['az://fleet/a?account=s01', 'abfss://fleet@s01.dfs.core.windows.net/a']}",
            "abfss://fleet@s01.dfs.core.windows.net/a is listed twice",
        ),
        ("{publish: [all], publish_to: [oci://registry.example/A]}", "is not a destination"),
        ("{publish: [all], publish_to: ['oci://registry.example/a:b']}", "is not a destination"),
        ("{publish: [all], publish_to: [s3://fleet/a, s3://fleet/a/]}", "s3://fleet/a/ is listed twice"),
        (
            f"{{publish: [{{name: {'a' * 129}, gatewayClass: a}}], publish_to: [oci://a.example/b]}}",
            "a tag has at most 128 characters",
        ),
        ("cluster: A/b", "cluster 'A/b' is not a name of lowercase letters, digits and -"),
        ("publish: [{name: a, gatewayClass: c, content: all}]", "'all' is not one of objects, effective"),
        ("publish_cert_file: a", "publish_cert_file and publish_key_file go together"),
    ],
)
def test_invalid_settings_of_a_file_are_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load_settings(file_of(tmp_path, text), environ={})


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"check_memory_mib": 447}, "check_memory_mib is 447: `opa` needs at least 448"),
        ({"status_writes_per_second": 0}, "above 0"),
        ({"policy_max_leaves": 0}, "policy_max_leaves must be above 0"),
        ({"status_writes_per_second": float("nan")}, "above 0"),
        ({"log_level": "loud"}, "'loud' is not one of debug, info, warning, error"),
        ({"log_format": "xml"}, "'xml' is not one of console, json"),
        ({"opa_port": 70000}, "70000 is not a port"),
        ({"listen": "8282"}, "'8282' is not HOST:PORT"),
        ({"listen": ":8282"}, "':8282' is not HOST:PORT"),
        ({"listen": "a:70000"}, "'a:70000' is not HOST:PORT"),
        ({"types": ["Secret"]}, "'Secret' is not <group>/<Kind>"),
        ({"webhook_listen": "8443"}, "not HOST:PORT"),
        ({"webhook_cert_file": "a"}, "go together"),
        ({"webhook_deadline": 60}, "at most 30 seconds"),
        ({"webhook_deadline": -1}, "above 0"),
        ({"webhook_url": "http://x/admission"}, "is not https://HOST:PORT/admission"),
        ({"webhook_service": "bridge"}, "is not NAMESPACE/NAME"),
        ({"webhook_decision": "https://opa/v1/query"}, "is not a URL of a decision"),
        ({"webhook_decision": "a//b"}, "not a decision"),
    ],
)
def test_contradictions_beyond_types_are_refused(flags: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load_settings(flags=flags, environ={})


def test_all_mistakes_are_reported_at_once_each_with_its_line(tmp_path: Path) -> None:
    text = """\
listen: 8282
lissten: 127.0.0.1:1
opa_port: many
types:
- apps/Deployment
- type: core/ConfigMap
  labelselector: app=web
- {type: Secret}
log_level: loud
"""
    with pytest.raises(SettingsError) as raised:
        load_settings(file_of(tmp_path, text), {"log_format": "xml"}, {"BRIDGE_STATUS_WRITES_PER_SECOND": "0"})
    file = tmp_path / "bridge.yaml"
    assert [str(mistake) for mistake in raised.value.mistakes] == [
        f"{file}:2: unknown setting 'lissten'; did you mean listen?",
        f"{file}:1: listen: expected a string, got an integer",
        f"{file}:3: opa_port: expected an integer or nothing, got a string",
        f"{file}:7: types: unknown field 'labelselector'; did you mean labelSelector?",
        f"{file}:8: types: 'Secret' is not <group>/<Kind>",
        f"{file}:9: log_level: 'loud' is not one of debug, info, warning, error",
        "option --log-format: 'xml' is not one of console, json",
        "environment BRIDGE_STATUS_WRITES_PER_SECOND: status_writes_per_second must be above 0",
    ]


def test_the_schema_names_the_values_where_only_some_are_right() -> None:
    properties = settings_schema()["Settings"]["properties"]
    assert sorted(properties["log_level"]["enum"]) == ["debug", "error", "info", "warning"]
    assert sorted(properties["log_format"]["enum"]) == ["console", "json"]


def test_a_key_that_is_there_twice_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"bridge.yaml:3: .*: duplicate key 'listen' \(first used on line 1\)"):
        load_settings(file_of(tmp_path, "listen: a:1\nlog_level: info\nlisten: b:2\n"), environ={})


def test_each_setting_says_where_it_came_from(tmp_path: Path) -> None:
    file = file_of(tmp_path, "# ours\nlisten: 127.0.0.1:1\nlog_level: error\n")
    found = load(file, {"opa_url": "http://a"}, {"BRIDGE_LOG_LEVEL": "debug"})
    shown = {name: found.origins[name] for name in ("listen", "log_level", "opa_url", "types")}
    assert shown == {
        "listen": f"{file}:2",
        "log_level": "environment BRIDGE_LOG_LEVEL",
        "opa_url": "option --opa",
        "types": "default",
    }


@pytest.mark.parametrize(
    "flags",
    [
        {"opa_url": "http://admin:hunter2@127.0.0.1:8181"},
        {"webhook_decision": "https://admin:hunter2@opa/v1/data/a"},
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(flags: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="_token_file") as raised:
        load_settings(flags=flags, environ={})
    assert "hunter2" not in str(raised.value)
