"""`pbctl verify`: proxies compared with what is in effect. `examples/proxies` has a proxy that lacks a policy."""

import copy
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ROOT, Run
from tests.envoy_dumps import dump, route_config

FOLDER = ROOT / "examples/proxies"
_VIEW, _CHECKOUT = "HTTPRoute/shop/cart#view", "HTTPRoute/shop/cart#checkout"
Object = dict[str, Any]
States = dict[str, str]


class Proxy:
    """The example's dump, which tests change, and `pbctl verify` with it."""

    def __init__(self, pbctl: Run, folder: Path) -> None:
        self.pbctl = pbctl
        self.file = folder / "dump.json"
        self.objects = FOLDER / "objects.yaml"
        self.dump: Object = json.loads((FOLDER / "config_dump.json").read_text())
        clusters, listeners, routes = self.dump["configs"]
        self.clusters = [one["cluster"] for one in clusters["dynamic_active_clusters"]]
        [self.listener] = [one["active_state"]["listener"] for one in listeners["dynamic_listeners"]]
        [self.routes] = routes["dynamic_route_configs"]
        [self.host] = self.routes["route_config"]["virtual_hosts"]

    def route(self, rule: str) -> Object:
        """Return the route of a rule."""
        found: Object = next(one for one in self.host["routes"] if _section(one) == rule)
        return found

    @property
    def manager(self) -> Object:
        """The listener's connection manager."""
        found: Object = self.listener["default_filter_chain"]["filters"][0]["typed_config"]
        return found

    def filter(self, name: str) -> Object:
        """Return a filter of the listener."""
        found: Object = next(one for one in self.manager["http_filters"] if one["name"] == name)
        return found

    def answer_itself(self, rule: str) -> None:
        """Answer the requests of a rule instead of its backend."""
        del self.route(rule)["route"]
        self.route(rule)["direct_response"] = {"status": 500}

    def add_listener_without(self, name: str) -> None:
        """Add a listener with the same routes, as there is one for HTTP/3, that lacks a filter."""
        other = copy.deepcopy(self.listener) | {"name": "other"}
        manager = other["default_filter_chain"]["filters"][0]["typed_config"]
        manager["http_filters"] = [one for one in manager["http_filters"] if one["name"] != name]
        self.dump["configs"][1]["dynamic_listeners"].append({"name": "other", "active_state": {"listener": other}})

    def warm(self) -> None:
        """Make the listener one that the proxy does not use yet."""
        [entry] = self.dump["configs"][1]["dynamic_listeners"]
        entry["warming_state"] = entry.pop("active_state")

    def states(self, *arguments: str, kind: str = "BackendTrafficPolicy") -> States:
        """Return the states of the fields of a kind at the rule checkout."""
        rows = self.rows("--all", *arguments)
        return {
            row["field"]: row["state"]
            for row in rows
            if row["target"].endswith(_CHECKOUT) and row["policyKind"].endswith(kind)
        }

    def rows(self, *arguments: str) -> list[Object]:
        """Return all rows of the answer."""
        self.file.write_text(json.dumps(self.dump))
        done = self.pbctl("verify", "--config-dump", self.file, "--manifests", self.objects, "-o", "json", *arguments)
        rows: list[Object] = json.loads(done.stdout)["rows"]
        states = {row["state"] for row in rows}
        code = 1 if states & {"differs", "missing in the proxy", "stale"} else 0 if "verified" in states else 2
        assert done.returncode == code, done.stderr
        return rows


def _section(route: Object) -> str:
    found: str = route["metadata"]["filter_metadata"]["envoy-gateway"]["resources"][0]["sectionName"]
    return found


@pytest.fixture
def proxy(bridge: Run, tmp_path: Path) -> Proxy:
    """A proxy with the example's configuration."""
    return Proxy(bridge, tmp_path)


def test_proxy_without_the_newest_policy_is_stale(proxy: Proxy) -> None:
    found = {(row["target"].rpartition("/")[2], row["field"], row["state"]) for row in proxy.rows()}
    assert found == {("cart#view", "(policy)", "stale"), ("cart#view", "/retry/numRetries", "stale")}


def test_fields_with_compared_values_are_verified(proxy: Proxy) -> None:
    assert proxy.states() == {
        "(policy)": "verified",
        "/rateLimit/local/rules": "verified",
        "/rateLimit/type": "verified",
        "/timeout/http/requestTimeout": "verified",
    }
    assert set(proxy.states(kind="SecurityPolicy").values()) == {"verified"}


_Change = Callable[[Proxy], object]
_LIMIT = "envoy.filters.http.local_ratelimit"
_TYPE = "type.googleapis.com/envoy"
_SKIPPING = f"{_TYPE}.extensions.common.matching.v3.ExtensionWithMatcher"
_FILTER_CONFIG = f"{_TYPE}.config.route.v3.FilterConfig"
_DENYING = {"name": "denying", "typed_config": {"@type": f"{_TYPE}.extensions.filters.network.rbac.v3.RBAC"}}


def _config(proxy: Proxy, name: str) -> Object:
    found: Object = proxy.route("checkout")["typed_per_filter_config"][name]
    return found


@pytest.mark.parametrize(
    ("change", "field", "state"),
    [
        (
            lambda proxy: proxy.route("checkout")["route"].update(timeout="16s"),
            "/timeout/http/requestTimeout",
            "differs",
        ),
        (
            lambda proxy: proxy.route("checkout")["route"].pop("timeout"),
            "/timeout/http/requestTimeout",
            "missing in the proxy",
        ),
        (
            lambda proxy: proxy.route("checkout")["metadata"]["filter_metadata"]["envoy-gateway"].pop("policies"),
            "(policy)",
            "missing in the proxy",
        ),
        (
            lambda proxy: proxy.route("checkout")["metadata"]["filter_metadata"]["envoy-gateway"]["policies"][0].update(
                name="defaults"
            ),
            "(policy)",
            "differs",
        ),
        (
            lambda proxy: proxy.route("checkout")["typed_per_filter_config"].pop(_LIMIT),
            "/rateLimit/local",
            "missing in the proxy",
        ),
        (
            lambda proxy: _config(proxy, _LIMIT)["token_bucket"].update(max_tokens=6, tokens_per_fill=6),
            "/rateLimit/local/rules",
            "differs",
        ),
        (
            lambda proxy: _config(proxy, _LIMIT)["token_bucket"].update(tokens_per_fill=1),
            "/rateLimit/local/rules",
            "missing in the proxy",
        ),
        (
            lambda proxy: _config(proxy, _LIMIT)["token_bucket"].update(fill_interval="1s"),
            "/rateLimit/local/rules",
            "differs",
        ),
        (
            lambda proxy: _config(proxy, _LIMIT)["filter_enforced"]["default_value"].update(numerator=10),
            "/rateLimit/local/rules",
            "missing in the proxy",
        ),
        (lambda proxy: _config(proxy, _LIMIT).pop("filter_enabled"), "/rateLimit/local/rules", "missing in the proxy"),
        (lambda proxy: _config(proxy, _LIMIT).update(disabled=True), "/rateLimit/local", "missing in the proxy"),
        # A route's filter has no effect if its listener has no such filter.
        (
            lambda proxy: proxy.manager.update(
                http_filters=[one for one in proxy.manager["http_filters"] if one["name"] != _LIMIT]
            ),
            "/rateLimit/local/rules",
            "missing in the proxy",
        ),
        # Nor if one of two listeners with the same routes has no such filter.
        (lambda proxy: proxy.add_listener_without(_LIMIT), "/rateLimit/local/rules", "missing in the proxy"),
        (lambda proxy: proxy.host["routes"].remove(proxy.route("checkout")), "", "missing in the proxy"),
        # Another route of the same rule differs.
        (
            lambda proxy: proxy.host["routes"].append(
                copy.deepcopy(proxy.route("checkout")) | {"route": {"cluster": "x", "timeout": "1s"}}
            ),
            "/timeout/http/requestTimeout",
            "differs",
        ),
        # A host of no listener, and a dump without a section, prove nothing.
        (lambda proxy: proxy.host.pop("metadata"), "", "not known"),
        (lambda proxy: proxy.dump["configs"].pop(1), "/rateLimit/local/rules", "cannot be read"),
    ],
)
def test_changed_proxy_is_not_verified(proxy: Proxy, change: _Change, field: str, state: str) -> None:
    proxy.routes["last_updated"] = ""
    change(proxy)
    assert proxy.states().get(field) == state


def _second_chain_without(proxy: Proxy, name: str) -> None:
    """Add a filter chain with the same routes to the listener, that lacks a filter which the first one has twice."""
    other = copy.deepcopy(proxy.listener["default_filter_chain"])
    manager = other["filters"][0]["typed_config"]
    manager["http_filters"] = [one for one in manager["http_filters"] if one["name"] != name]
    proxy.listener["filter_chains"] = [other]
    filters = proxy.manager["http_filters"]
    filters += [copy.deepcopy(one) | {"is_optional": True} for one in filters if one["name"] == name]


@pytest.mark.parametrize(
    ("change", "field", "state"),
    [
        # One of two connection managers of a listener lacks a filter that the other one has twice.
        (lambda proxy: _second_chain_without(proxy, _LIMIT), "/rateLimit/local/rules", "missing in the proxy"),
        # The listener takes other routes, of the same name in another listener.
        (
            lambda proxy: proxy.manager["rds"].update(route_config_name="shop/other/http"),
            "/timeout/http/requestTimeout",
            "missing in the proxy",
        ),
        # Runtime settings can turn it off.
        (
            lambda proxy: _config(proxy, _LIMIT)["filter_enforced"].update(runtime_key="limits"),
            "/rateLimit/local/rules",
            "missing in the proxy",
        ),
        # Each connection has its own limit, or all proxies share one.
        (
            lambda proxy: _config(proxy, _LIMIT).update(local_rate_limit_per_downstream_connection=True),
            "/rateLimit/local/rules",
            "missing in the proxy",
        ),
        (
            lambda proxy: _config(proxy, _LIMIT).update(local_cluster_rate_limit={}),
            "/rateLimit/local/rules",
            "missing in the proxy",
        ),
        # The filter of one cluster of a split takes precedence over the route's.
        (
            lambda proxy: proxy.route("checkout")["route"].update(
                weighted_clusters={"clusters": [_half("one"), _half("two", {_LIMIT: {"disabled": True}})]}
            ),
            "/rateLimit/local",
            "missing in the proxy",
        ),
        # The listener's filter is of another type, such as one that skips requests.
        (
            lambda proxy: proxy.filter(_LIMIT)["typed_config"].update({"@type": _SKIPPING}),
            "/rateLimit/local/rules",
            "missing in the proxy",
        ),
        # A configuration within another one turns the filter off.
        (
            lambda proxy: proxy.route("checkout")["typed_per_filter_config"].update(
                {_LIMIT: {"@type": _FILTER_CONFIG, "config": {**_config(proxy, _LIMIT), "disabled": True}}}
            ),
            "/rateLimit/local",
            "missing in the proxy",
        ),
        # The limit is only for some clients.
        (
            lambda proxy: _config(proxy, _LIMIT).update(
                descriptors=[{"entries": [], "token_bucket": _config(proxy, _LIMIT).pop("token_bucket")}]
            ),
            "/rateLimit/local/rules",
            "differs",
        ),
        # The cluster of a part of the requests is in a header of each.
        (
            lambda proxy: proxy.route("checkout")["route"].update(
                weighted_clusters={"clusters": [_half("one"), {"cluster_header": "x-cluster", "weight": 50}]}
            ),
            "/timeout/http/requestTimeout",
            "cannot be read",
        ),
        # Parts of the proxy with settings that Policy Bridge doesn't know.
        (lambda proxy: proxy.host.update(require_tls="ALL"), "/timeout/http/requestTimeout", "cannot be read"),
        (
            lambda proxy: proxy.routes["route_config"].update(ignore_path_parameters_in_path_matching=True),
            "(policy)",
            "cannot be read",
        ),
        (
            lambda proxy: proxy.route("checkout")["route"].update(hedge_policy={"hedge_on_per_try_timeout": True}),
            "/timeout/http/requestTimeout",
            "cannot be read",
        ),
        (
            lambda proxy: proxy.listener.update(filter_chain_matcher={"matcher_list": {}}),
            "/rateLimit/local/rules",
            "cannot be read",
        ),
        (
            lambda proxy: proxy.listener["default_filter_chain"].update(filter_chain_match={"server_names": ["a"]}),
            "/rateLimit/local/rules",
            "cannot be read",
        ),
        (
            lambda proxy: proxy.manager.update(upgrade_configs=[{"upgrade_type": "websocket", "filters": []}]),
            "/rateLimit/local/rules",
            "cannot be read",
        ),
        (
            lambda proxy: proxy.listener["default_filter_chain"]["filters"].insert(0, _DENYING),
            "/rateLimit/local/rules",
            "cannot be read",
        ),
        # Another filter chain takes the connections.
        (
            lambda proxy: proxy.listener.update(filter_chains=[{"filters": [_DENYING]}]),
            "/rateLimit/local/rules",
            "cannot be read",
        ),
        # The proxy answers instead of the backend.
        (
            lambda proxy: proxy.answer_itself("checkout"),
            "/rateLimit/local/rules",
            "cannot be read",
        ),
        # Other requests than those of the rule get the policies.
        (
            lambda proxy: proxy.route("checkout")["match"].update(runtime_fraction={"default_value": {"numerator": 0}}),
            "/timeout/http/requestTimeout",
            "cannot be read",
        ),
        (
            lambda proxy: proxy.host["routes"].insert(0, {"match": {"prefix": "/check"}, "route": {"cluster": "x"}}),
            "/timeout/http/requestTimeout",
            "cannot be read",
        ),
        (lambda proxy: proxy.host.update(domains=["a.example.com"]), "/rateLimit/local/rules", "cannot be read"),
        # The proxy does not use a listener that is warming.
        (lambda proxy: proxy.warm(), "/rateLimit/local/rules", "missing in the proxy"),
    ],
)
def test_configuration_without_effect_is_not_verified(proxy: Proxy, change: _Change, field: str, state: str) -> None:
    proxy.routes["last_updated"] = ""
    change(proxy)
    assert proxy.states().get(field) == state


def _half(name: str, filters: Object | None = None) -> Object:
    return {"name": name, "weight": 50, "typed_per_filter_config": filters or {}}


@pytest.mark.parametrize(
    "change",
    [
        {"filter_enabled": {"default_value": {"numerator": 0}}},
        {"shadow_enabled": {"default_value": {"numerator": 100}}},
        {"allow_origin_string_match": [{"exact": "https://shop.example.com", "ignore_case": True}]},
    ],
)
def test_cors_that_is_not_for_all_requests_is_not_verified(proxy: Proxy, change: Object) -> None:
    _config(proxy, "envoy.filters.http.cors").update(change)
    assert proxy.states(kind="SecurityPolicy")["/cors/allowOrigins"] != "verified"


@pytest.mark.parametrize(
    ("change", "state", "message"),
    [
        (
            lambda proxy: proxy.host.update(domains=["other.example.com"]),
            "missing in the proxy",
            "the proxy does not serve shop.example.com/checkout/*",
        ),
        (
            lambda proxy: proxy.host.update(domains=["*", "shop.example.com"]),
            "differs",
            "the proxy also serves */checkout/*",
        ),
        (
            lambda proxy: proxy.route("checkout").update(match={"path_separated_prefix": "/pay"}),
            "missing in the proxy",
            "the proxy does not serve shop.example.com/checkout/*",
        ),
        (
            lambda proxy: proxy.route("checkout")["match"].update(
                headers=[{"name": "X-User", "string_match": {"exact": "a"}}]
            ),
            "missing in the proxy",
            "the proxy does not serve shop.example.com/checkout/*",
        ),
        (
            lambda proxy: proxy.route("checkout")["match"].update(runtime_fraction={"default_value": {"numerator": 0}}),
            "cannot be read",
            "Policy Bridge doesn't know how the proxy matches requests of this rule",
        ),
        # Envoy takes the first route that matches, and a prefix is one of text.
        (
            lambda proxy: proxy.host["routes"].insert(0, {"match": {"prefix": "/check"}, "route": {"cluster": "x"}}),
            "cannot be read",
            "an earlier route of the proxy takes shop.example.com/checkout/*",
        ),
        (
            lambda proxy: proxy.host["routes"].insert(
                0, {"match": {"safe_regex": {"regex": "/c.*"}}, "route": {"cluster": "x"}}
            ),
            "cannot be read",
            "an earlier route of the proxy takes shop.example.com/checkout/*",
        ),
        (lambda proxy: proxy.host.update(require_tls="ALL"), "cannot be read", "Policy Bridge doesn't know requireTls"),
        (
            lambda proxy: proxy.host["routes"].insert(0, {"match": {"prefix": "/"}, "route": {"cluster": "x"}}),
            "cannot be read",
            "an earlier route of the proxy takes shop.example.com/checkout/*",
        ),
        (
            lambda proxy: proxy.host["routes"].insert(
                0, {"match": {"path_separated_prefix": "/checkout"}, "direct_response": {"status": 200}}
            ),
            "cannot be read",
            "an earlier route of the proxy takes shop.example.com/checkout/*",
        ),
    ],
)
def test_rule_that_gets_other_requests_is_not_verified(proxy: Proxy, change: _Change, state: str, message: str) -> None:
    assert _rule_row(proxy)["state"] == "verified"
    change(proxy)
    row = _rule_row(proxy)
    assert (row["state"], row["message"][: len(message)]) == (state, message)


def _rule_row(proxy: Proxy) -> Object:
    [row] = [row for row in proxy.rows("--all") if row["field"] == "(rule)" and row["target"].endswith(_CHECKOUT)]
    return row


def test_each_match_of_a_rule_is_compared(proxy: Proxy, tmp_path: Path) -> None:
    objects = (FOLDER / "objects.yaml").read_text()
    two = "matches: [{path: {type: PathPrefix, value: /checkout/}}, {path: {value: /pay, type: Exact}, method: POST}]"
    manifests = tmp_path / "objects.yaml"
    manifests.write_text(objects.replace("matches: [{path: {type: PathPrefix, value: /checkout}}]", two))
    second = copy.deepcopy(proxy.route("checkout")) | {
        "match": {"path": "/pay", "headers": [{"name": ":method", "string_match": {"exact": "POST"}}]},
        "name": "httproute/shop/cart/rule/1/match/1/shop_example_com",
    }
    for routes, state in (([], "missing in the proxy"), ([second], "verified")):
        proxy.host["routes"] += routes
        proxy.file.write_text(json.dumps(proxy.dump))
        done = proxy.pbctl("verify", "--config-dump", proxy.file, "--manifests", manifests, "--all", "-o", "json")
        rows = [row for row in json.loads(done.stdout)["rows"] if row["field"] == "(rule)"]
        assert [row["state"] for row in rows if row["target"].endswith(_CHECKOUT)] == [state]


def test_dump_without_routes_proves_nothing_about_rules(proxy: Proxy) -> None:
    del proxy.dump["configs"][2]
    assert proxy.states() == {"": "not known"}


@pytest.mark.parametrize(
    ("origin", "state"),
    [({"exact": "https://other.example.com"}, "differs"), ({"prefix": "https://shop.example.com"}, "differs")],
)
def test_origins_of_another_form_differ(proxy: Proxy, origin: Object, state: str) -> None:
    _config(proxy, "envoy.filters.http.cors")["allow_origin_string_match"] = [origin]
    assert proxy.states(kind="SecurityPolicy")["/cors/allowOrigins"] == state


def test_policy_that_a_proxy_has_without_being_in_effect_is_a_difference(proxy: Proxy) -> None:
    proxy.route("checkout")["typed_per_filter_config"][
        "envoy.filters.http.lua/envoyextensionpolicy/shop/old/lua/0"
    ] = {}
    [row] = [row for row in proxy.rows() if row["policyKind"].endswith("EnvoyExtensionPolicy")]
    assert (row["state"], row["message"]) == ("differs", "no policy of this kind is in effect here")


def test_rule_that_a_proxy_serves_and_that_does_not_exist_is_a_difference(proxy: Proxy) -> None:
    removed = copy.deepcopy(proxy.route("checkout"))
    removed["metadata"]["filter_metadata"]["envoy-gateway"]["resources"][0]["sectionName"] = "removed"
    proxy.host["routes"].append(removed)
    assert "no such target exists" in {row["message"] for row in proxy.rows()}


def test_two_proxies_are_compared_each(proxy: Proxy, bridge: Run, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(proxy.dump))
    proxy.host["routes"].remove(proxy.route("checkout"))
    rows = proxy.rows("--config-dump", str(other), "--all")
    states = {
        row["proxy"]: row["state"]
        for row in rows
        if row["target"].endswith(_CHECKOUT) and "Traffic" in row["policyKind"]
    }
    assert states == {str(proxy.file): "missing in the proxy", str(other): "verified"}


def test_gateway_of_no_dump_is_not_known(proxy: Proxy) -> None:
    text = (
        json.dumps(proxy.dump)
        .replace('"name": "public"', '"name": "other"')
        .replace("shop/public/http", "shop/other/http")
    )
    proxy.file.write_text(text)
    done = proxy.pbctl("verify", "--config-dump", proxy.file, "--manifests", FOLDER / "objects.yaml")
    assert "none of these dumps is of a proxy for this target" in done.stdout
    assert "no such target exists" in done.stdout  # what that proxy serves


def test_proxy_that_no_rules_know_is_reported(proxy: Proxy) -> None:
    proxy.file.write_text(
        json.dumps(proxy.dump).replace("envoy-gateway", "other").replace("shop/public/http", "http.80")
    )
    done = proxy.pbctl("verify", "--config-dump", proxy.file, "--manifests", FOLDER / "objects.yaml")
    assert "no rules know the configuration of this proxy" in done.stderr
    assert done.returncode == 2


def test_strict_exits_with_1_if_a_field_cannot_be_read(proxy: Proxy) -> None:
    rules = ("HTTPRoute/shop/cart#checkout", "--config-dump", proxy.file, "--manifests", FOLDER / "objects.yaml")
    proxy.file.write_text(json.dumps(proxy.dump))
    assert proxy.pbctl("verify", *rules, "--strict").returncode == 0
    del proxy.dump["configs"][0]  # the timeouts of connections are in clusters
    del proxy.dump["configs"][0]  # the filters are in listeners
    proxy.file.write_text(json.dumps(proxy.dump))
    assert proxy.pbctl("verify", *rules).returncode == 0
    assert proxy.pbctl("verify", *rules, "--strict").returncode == 1


def test_formats_of_ci_name_each_difference(bridge: Run) -> None:
    arguments = ("verify", "--config-dump", FOLDER / "config_dump.json", "--manifests", FOLDER / "objects.yaml", "-o")
    github, markdown = bridge(*arguments, "github"), bridge(*arguments, "markdown")
    assert (
        "::error title=HTTPRoute/shop/cart#view%3A stale::BackendTrafficPolicy retry.numRetries: expected 2 (shop/view)"
        in github.stdout
    )
    assert "❌ Proxies differ from the effective policies" in markdown.stdout
    assert "`BackendTrafficPolicy retry.numRetries`" in markdown.stdout


@pytest.fixture
def admin() -> Iterator[str]:
    """The address of a server that answers as an Envoy's admin interface does."""

    class Admin(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/config_dump"
            self.send_response(200 if found else 404)
            self.end_headers()
            if found:
                self.wfile.write((FOLDER / "config_dump.json").read_bytes())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's signature
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Admin) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_dump_is_read_from_a_proxy(bridge: Run, admin: str) -> None:
    done = bridge("verify", "--config-dump", admin, "--manifests", FOLDER / "objects.yaml")
    assert "2 stale" in done.stdout
    done = bridge("verify", "--config-dump", f"{admin}/other", "--manifests", FOLDER / "objects.yaml")
    assert done.returncode == 2
    assert "Not Found" in done.stderr


def test_dump_is_read_from_standard_input(bridge_process: Run) -> None:
    text = (FOLDER / "config_dump.json").read_text()
    done = bridge_process("verify", "--config-dump", "-", "--manifests", FOLDER / "objects.yaml", text=text)
    assert "2 stale" in done.stdout
    cut = bridge_process("verify", "--config-dump", "-", "--manifests", FOLDER / "objects.yaml", text=text[:5000])
    assert (cut.returncode, cut.stdout) == (2, "")
    assert "standard input is cut off" in cut.stderr


def test_missing_file_is_an_error(bridge: Run) -> None:
    done = bridge("verify", "--config-dump", "nowhere.json", "--manifests", FOLDER / "objects.yaml")
    assert (done.returncode, done.stderr) == (2, "error: cannot read nowhere.json: No such file or directory\n")


_ACME = """
apiVersion: v1
kind: ConfigMap
metadata: {name: acme, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  acme.rego: |
    package bridge.extensions.proxies.acme

    kind := "gateway.envoyproxy.io/BackendTrafficPolicy"

    vendor := {
        "name": "Acme",
        "targets": ["gateway.networking.k8s.io/HTTPRoute"],
        "fields": {kind: {"/timeout/http/requestTimeout": {"form": "Duration"}}},
    }

    facts contains {
        "vendor": vendor.name,
        "proxy": resource.proxy,
        "target": resource.config.metadata.filterMetadata.acme.rule,
        "via": "gateway.networking.k8s.io/Gateway/shop/public#http",
        "covers": "gateway.networking.k8s.io/Gateway/shop/public",
        "values": {kind: {"/timeout/http/requestTimeout": object.get(config.route, "timeout", null)}},
    } if {
        some resource in input.resources.route
        config := data.bridge.proxies.envoy.config(resource)
    }
"""


@pytest.mark.parametrize(("timeout", "state"), [("15s", "verified"), ("1s", "differs")])
def test_rules_of_a_vendor_are_loaded_from_a_configmap(bridge: Run, tmp_path: Path, timeout: str, state: str) -> None:
    rule = "gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"
    route = {"name": "r", "metadata": {"filterMetadata": {"acme": {"rule": rule}}}, "route": {"timeout": timeout}}
    (tmp_path / "acme.yaml").write_text(_ACME)
    (tmp_path / "dump.json").write_text(json.dumps(dump(route_config(route))).replace("envoy-gateway", "other"))
    manifests = ("--manifests", FOLDER / "objects.yaml", "--manifests", tmp_path / "acme.yaml")
    done = bridge("verify", "--config-dump", tmp_path / "dump.json", *manifests, "-o", "json", "--all")
    rows = json.loads(done.stdout)["rows"]
    [row] = [row for row in rows if row["target"] == rule and row["field"] == "/timeout/http/requestTimeout"]
    assert (row["state"], row["expected"], row["actual"]) == (state, "15s", timeout)
    assert {row["message"] for row in rows if row["policyKind"].endswith("SecurityPolicy")} == {
        "Policy Bridge can't read SecurityPolicy from proxies of Acme"
    }


def test_explain_has_the_state_of_each_field_in_a_proxy(proxy: Proxy, tmp_path: Path) -> None:
    proxy.route("checkout")["route"]["timeout"] = "16s"
    proxy.file.write_text(json.dumps(proxy.dump))
    command = ("explain", "httproute/cart#checkout", "-n", "shop", "--manifests", FOLDER / "objects.yaml")
    lines = [line.split() for line in proxy.pbctl(*command, "--config-dump", proxy.file).stdout.splitlines()]
    assert ["timeout.http.requestTimeout", "15s", "shop/defaults", "differs,", "16s"] in lines
    assert ["rateLimit.type", "Local", "shop/checkout", "verified"] in lines
    assert "PROXY" not in proxy.pbctl(*command).stdout
    found = json.loads(proxy.pbctl(*command, "--config-dump", proxy.file, "-o", "json").stdout)
    rows = [row for entry in found for path in entry["paths"] for row in path["proxy"]]
    assert {row["state"] for row in rows} == {"verified", "differs"}
    done = proxy.pbctl(*command, "--config-dump", tmp_path / "nowhere.json")
    assert (done.returncode, done.stdout) == (2, "")


def test_rule_with_requests_that_the_proxy_answers_itself_differs(proxy: Proxy) -> None:
    proxy.answer_itself("checkout")
    [rule] = [row for row in proxy.rows() if row["field"] == "(rule)"]
    assert (rule["state"], rule["target"].rpartition("/")[2]) == ("differs", "cart#checkout")
    assert rule["message"].startswith("the proxy answers 500 itself: Envoy Gateway makes it so if it cannot use")
    assert "verified" not in proxy.states().values()


def _redirect_checkout(proxy: Proxy) -> None:
    route = proxy.route("checkout")
    del route["route"]
    route["redirect"] = {"host_redirect": "www.example.com"}
    del route["typed_per_filter_config"]["envoy.filters.http.local_ratelimit"]


def test_limit_is_not_missing_at_a_rule_that_redirects(proxy: Proxy, tmp_path: Path) -> None:
    _redirect_checkout(proxy)
    text = proxy.objects.read_text()
    before, backends, after = text.rpartition("backendRefs: [{name: cart, port: 80}]")
    assert backends
    redirect = "filters: [{type: RequestRedirect, requestRedirect: {hostname: www.example.com}}]"
    proxy.objects = tmp_path / "objects.yaml"
    proxy.objects.write_text(f"{before}{redirect}{after}")
    limits = {row["field"]: row for row in proxy.rows("--all") if row["field"].startswith("/rateLimit/local")}
    assert {row["state"] for row in limits.values()} == {"cannot be read"}
    assert limits["/rateLimit/local/rules"]["message"] == "Envoy Gateway limits only requests to backends"


def test_limit_is_missing_if_only_the_proxy_redirects(proxy: Proxy) -> None:
    _redirect_checkout(proxy)
    assert "/rateLimit/local/rules" in {row["field"] for row in proxy.rows() if row["state"] == "missing in the proxy"}


def _add_host_that_no_route_has(proxy: Proxy) -> None:
    other = {"name": "other", "domains": ["api.example.com"], "routes": []}
    proxy.routes["route_config"]["virtual_hosts"].append(other)


def _take_requests_with_a_port(proxy: Proxy) -> None:
    other = copy.deepcopy(proxy.host) | {"name": "other", "domains": ["shop.example.com:8080"], "routes": []}
    proxy.routes["route_config"]["virtual_hosts"].append(other)


def _answer_from_a_cache(proxy: Proxy) -> None:
    cache = {
        "name": "envoy.filters.http.cache",
        "typed_config": {"@type": f"{_TYPE}.extensions.filters.http.cache.v3.CacheConfig"},
    }
    proxy.manager["http_filters"].insert(0, cache)


def _run_code_under_the_name_of_another_filter(proxy: Proxy) -> None:
    lua = {"name": "envoy.filters.http.fault", "typed_config": {"@type": f"{_TYPE}.extensions.filters.http.lua.v3.Lua"}}
    proxy.manager["http_filters"].insert(0, lua)


def _listen_at_another_port(proxy: Proxy) -> None:
    proxy.listener["address"] = {"socket_address": {"address": "0.0.0.0", "port_value": 10443}}  # noqa: S104


def _listen_at_a_pipe(proxy: Proxy) -> None:
    proxy.listener["address"] = {"pipe": {"path": "/run/envoy"}}


def _run_code_on_all_requests(proxy: Proxy) -> None:
    code = {
        "@type": f"{_TYPE}.extensions.filters.http.lua.v3.Lua",
        "default_source_code": {
            "inline_string": "function envoy_on_request(handle) handle:respond({[':status']='200'}, '') end"
        },
    }
    proxy.manager["http_filters"].insert(0, {"name": "envoy.filters.http.lua", "typed_config": code})


def _discover_a_filter(proxy: Proxy) -> None:
    proxy.manager["http_filters"].insert(0, {"name": "envoy.filters.http.fault", "config_discovery": {}})


def _name_no_listener(proxy: Proxy) -> None:
    del proxy.host["metadata"]["filter_metadata"]["envoy-gateway"]["resources"][0]["sectionName"]


def _route_a_part_of_the_requests_elsewhere(proxy: Proxy) -> None:
    part = {"match": {"path_separated_prefix": "/checkout/pay"}, "route": {"cluster": "x"}}
    proxy.host["routes"].insert(0, {"name": "patched", **part})


@pytest.mark.parametrize(
    "change",
    [
        _add_host_that_no_route_has,
        _take_requests_with_a_port,
        _answer_from_a_cache,
        _run_code_under_the_name_of_another_filter,
        _listen_at_another_port,
        _listen_at_a_pipe,
        _run_code_on_all_requests,
        _discover_a_filter,
        _name_no_listener,
        _route_a_part_of_the_requests_elsewhere,
    ],
)
def test_nothing_is_verified_if_the_requests_may_not_reach_the_policies(proxy: Proxy, change: _Change) -> None:
    change(proxy)
    assert "verified" not in {*proxy.states().values(), *proxy.states(kind="SecurityPolicy").values()}


def test_route_of_no_rule_after_those_of_rules_takes_none_of_their_requests(proxy: Proxy) -> None:
    proxy.host["routes"].append({"name": "patched", "match": {"prefix": "/"}, "route": {"cluster": "x"}})
    assert set(proxy.states().values()) == {"verified"}


_MORE = """---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: shop}
spec:
  parentRef: {name: public}
  listeners: [{name: http, port: 80, protocol: HTTP}]
"""


def test_rule_below_a_listener_set_is_verified(proxy: Proxy, tmp_path: Path) -> None:
    text = proxy.objects.read_text()
    for old, new in (
        (
            "listeners: [{name: http, port: 80,",
            "allowedListeners: {namespaces: {from: Same}}\n  listeners: [{name: own, port: 8080,",
        ),
        ("parentRefs: [{name: public}]", "parentRefs: [{kind: ListenerSet, name: more}]"),
    ):
        assert old in text
        text = text.replace(old, new)
    proxy.objects = tmp_path / "objects.yaml"
    proxy.objects.write_text(f"{text}{_MORE}")
    [resource] = proxy.host["metadata"]["filter_metadata"]["envoy-gateway"]["resources"]
    resource |= {"kind": "ListenerSet", "name": "more"}
    proxy.dump = json.loads(json.dumps(proxy.dump).replace("shop/public/http", "shop/public/shop/more/http"))
    assert set(proxy.states().values()) == {"verified"}
