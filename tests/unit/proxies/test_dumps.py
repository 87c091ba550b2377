"""Reading configurations of proxies."""

import io
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from bridge.proxies.dumps import Dump, DumpError, Part, read_parts
from tests.envoy_dumps import LISTENER, cluster, dump, listener, route, route_config

_WHOLE = dump(
    route_config(route("view", timeout="15s")),
    cluster("view", connectTimeout="3s"),
    listeners=(listener("envoy.filters.http.cors"),),
)


def _read(value: Any, name: str = "dump.json") -> list[Part]:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return list(read_parts(io.BytesIO(text), Dump(name)))


def test_parts_are_a_route_its_host_its_routes_a_listener_and_a_cluster() -> None:
    parts = _read(_WHOLE)
    assert [part.type for part in parts] == ["cluster", "listener", "route", "virtualHost", "routes"]
    found = parts[2]
    assert (found.route_config, found.virtual_host) == (LISTENER, f"{LISTENER}/all")
    assert found.config["route"]["timeout"] == "15s"
    assert "routes" not in parts[3].config  # they are parts of their own
    assert "virtualHosts" not in parts[4].config


def test_names_of_fields_are_read_as_envoy_spells_them() -> None:
    text = json.dumps(_WHOLE)
    for name in ("dynamicRouteConfigs", "routeConfig", "virtualHosts", "typedPerFilterConfig", "filterMetadata"):
        spelled = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
        text = text.replace(f'"{name}"', f'"{spelled}"')
    assert [part.config for part in _read(text.encode())] == [part.config for part in _read(_WHOLE)]


def test_names_that_users_choose_keep_their_underscores() -> None:
    providers = {
        "name": "envoy.filters.http.jwt_authn",
        "typedConfig": {"providers": {"my_idp": {"payload_in_metadata": "a_b"}}},
    }
    parts = _read(dump(route_config(), listeners=(listener(httpFilters=[providers]),)))
    manager = parts[0].config["defaultFilterChain"]["filters"][0]["typedConfig"]
    assert manager["httpFilters"][0]["typedConfig"] == {"providers": {"my_idp": {"payloadInMetadata": "a_b"}}}


def test_output_of_egctl_names_its_proxies() -> None:
    both = {"infra": {"envoy-1": _WHOLE, "envoy-2": _WHOLE}}
    assert {part.proxy for part in _read(both)} == {"dump.json infra/envoy-1", "dump.json infra/envoy-2"}


@pytest.mark.parametrize(
    ("value", "types"),
    [
        ([route_config(route("view"))], ["route", "virtualHost", "routes"]),
        ([listener()], ["listener"]),
        ([cluster("view", connectTimeout="3s")], ["cluster"]),
    ],
)
def test_lists_of_istioctl_are_read(value: Any, types: list[str]) -> None:
    assert [part.type for part in _read(value)] == types


def test_one_section_of_egctl_is_read_for_each_proxy() -> None:
    sections = {one["@type"].rpartition(".")[2]: one for one in _WHOLE["configs"]}
    routes = {name: value for name, value in sections["RoutesConfigDump"].items() if name != "@type"}
    found = Dump("dump.json")
    parts = list(
        read_parts(io.BytesIO(json.dumps({"infra": {"a": routes}, "bootstrap": {"b": routes}}).encode()), found)
    )
    assert [(part.proxy, part.type) for part in parts if part.type == "route"] == [
        ("dump.json infra/a", "route"),
        ("dump.json bootstrap/b", "route"),
    ]
    assert found.sections == {"dump.json infra/a": {"routes"}, "dump.json bootstrap/b": {"routes"}}


def test_bootstrap_is_read_for_the_name_of_the_node_alone() -> None:
    metadata = {
        "NAMESPACE": "shop",
        "LABELS": {"my_team": "a"},
        "ISTIO_VERSION": "1.31.0",
        "PROXY_CONFIG": {"a": "s3cret"},
    }
    node = {"id": "public-1.shop", "metadata": metadata, "locality": {"zone": "s3cret"}}
    config = {"node": node, "static_resources": {"secrets": ["s3cret"], "listeners": [{"name": "s3cret"}]}}
    section = {"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": config}
    [part] = [one for one in _read({"configs": [section, *_WHOLE["configs"]]}) if one.type == "bootstrap"]
    assert part.config == {
        "node": {
            "id": "public-1.shop",
            "metadata": {"NAMESPACE": "shop", "LABELS": {"my_team": "a"}, "ISTIO_VERSION": "1.31.0"},
        }
    }


def test_filters_that_a_proxy_discovered_are_parts() -> None:
    entry = {"ecdsFilter": {"name": "limits", "typedConfig": {"rate": 1}}, "lastUpdated": "2026-01-01T00:00:00Z"}
    section = {"@type": "type.googleapis.com/envoy.admin.v3.EcdsConfigDump", "ecdsFilters": [entry]}
    [part] = _read({"configs": [section]})
    assert (part.type, part.config["name"], part.updated) == ("filter", "limits", "2026-01-01T00:00:00Z")


def test_time_of_the_last_update_is_that_of_the_configuration() -> None:
    parts = _read(dump(route_config(route("view")), updated="2026-11-10T09:00:00Z"))
    assert parts[-1].updated == "2026-11-10T09:00:00Z"


def test_values_of_secrets_are_left_out() -> None:
    filters = [
        {"name": "basic", "typedConfig": {"users": {"inlineBytes": "c2VjcmV0"}}},
        {"name": "keys", "typedConfig": {"credentials": [{"key": "secret"}]}},
        {"name": "oauth", "typedConfig": {"tokenSecret": {"name": "secret"}, "signOut": {"inlineString": "secret"}}},
        {"name": "lua", "typedConfig": {"defaultSourceCode": {"inlineString": "code"}}},
    ]
    secrets = {
        "@type": "type.googleapis.com/envoy.admin.v3.SecretsConfigDump",
        "dynamicActiveSecrets": [
            {"name": "cert", "secret": {"tlsCertificate": {"privateKey": {"inlineString": "secret"}}}}
        ],
    }
    whole = dump(
        route_config(route("view", requestHeadersToAdd=["secret"])), listeners=(listener(httpFilters=filters),)
    )
    whole["configs"].insert(0, secrets)
    text = json.dumps([part.document() for part in _read(whole)])
    assert "secret" not in text.lower().replace("tokensecret", "")
    assert "code" in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (json.dumps(_WHOLE).encode()[:-40], "is cut off"),
        (b"", "is cut off"),
        (b"kind: List", "is not JSON"),
        (b"\x1f\x8b\x08\x00\x00", "is not"),
        (b'{"version": 3, "server": {"frontends": []}}', "has no configuration of an Envoy"),
        (b"[]", "has no configuration of an Envoy"),
        (b"3", "has no configuration of an Envoy"),
    ],
)
def test_other_content_is_an_error_that_names_the_dump(text: bytes, reason: str) -> None:
    with pytest.raises(DumpError, match=f"dump.json {reason}"):
        _read(text)


def test_part_of_too_many_values_is_an_error() -> None:
    many = dump(route_config(route("view", hashPolicy=[{"header": {"name": "x"}}] * 80_000)))
    with pytest.raises(DumpError, match="more than 200,000 values"):
        _read(many)


def test_version_that_a_proxy_rejected_is_a_warning() -> None:
    whole = dump(route_config(), listeners=(listener(),))
    whole["configs"][1]["dynamicListeners"][0]["errorState"] = {"details": "no such filter"}
    read = Dump("dump.json")
    list(read_parts(io.BytesIO(json.dumps(whole).encode()), read))
    assert read.warnings == [f"dump.json rejected a newer version of listener {LISTENER}"]


class _Long:
    """A dump of many routes, made while it is read."""

    def __init__(self, routes: int) -> None:
        text = json.dumps(dump(route_config(route("view", timeout="15s"))))
        one = json.dumps(route("view", timeout="15s"))
        start, end = text.split(one)
        self._pieces = self._made(start, one, end, routes)

    def _made(self, start: str, one: str, end: str, routes: int) -> Iterator[bytes]:
        yield start.encode()
        for number in range(routes):
            yield (one if number == 0 else f",{one}").encode()
        yield end.encode()

    def read(self, size: int = -1) -> bytes:
        return next(self._pieces, b"") if size else b""


def test_memory_does_not_grow_with_the_number_of_routes() -> None:
    def peak(routes: int) -> int:
        tracemalloc.start()
        parts = len([part.type for part in read_parts(_Long(routes), Dump("dump.json"))])  # type: ignore[arg-type]
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert parts == routes + 2
        return found

    peak(10)
    assert peak(5_000) < 2 * peak(50) + 200_000
