"""The chart as helm renders it: the effects of values, and one place for each setting."""

import base64
import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from cryptography import x509

from bridge.admission.webhook_configuration import KINDS
from bridge.cli.kind_source import KindSource
from bridge.cli.main import pbctl
from bridge.cli.rbac import read_needs
from bridge.opa.bundle import opa_arguments
from bridge.opa.credentials import kept_credentials
from bridge.policy_loader.bounds import DEFAULT_MEMORY
from bridge.settings.loading import load_settings
from bridge.sidecar.permissions import rules
from bridge.sources.bounded_reading import MOST_MEMORY
from hack.manifests.generate import stale
from hack.manifests.parts import CHART, OWN_SETTINGS, HelmError, Objects, helm, one, template

pytestmark = pytest.mark.needs("helm")

Values = Mapping[str, Any]
VALUES: dict[str, Values] = {
    "as it is": {},
    "of all namespaces": {"policyNamespaces": ["*"]},
    "policies in the bridge's own namespace": {"policyNamespaces": ["policy-bridge", "team-policies"]},
    "no webhook": {"webhook": {"enabled": False}},
    "observing": {"profile": "observe"},
    "cert-manager": {"webhook": {"certificate": {"source": "CertManager"}, "resources": []}},
    "a certificate of the user": {
        "webhook": {
            "resources": ["deployments.apps", "pods"],
            "timeoutSeconds": 5,
            "exemptNamespaces": ["legacy"],
            "certificate": {"source": "Secret", "secretName": "mine", "caBundle": "QQ=="},
        }
    },
    "readers of OPA": {
        "opa": {
            "readers": {"enabled": True, "bridgeTokenSecret": "own", "tokensSecret": "theirs", "tlsSecret": "opa-tls"}
        }
    },
    "views for other OPAs": {
        "views": {
            "enabled": True,
            "tlsSecret": "views-tls",
            "tokensSecret": "views-tokens",
            "registrySecret": "views-registry",
        },
        "settings": {"publish": ["Gateway/infra/public=effective"]},
    },
    "another name": {"fullnameOverride": "gateway-policies"},
    "decisions about whole reviews": {
        "settings": {"webhook_input": "review"},
        "webhook": {"resources": ["deployments.apps", "pods"]},
    },
    "monitoring": {
        "metrics": {"serviceMonitor": {"enabled": True}, "rules": {"enabled": True}, "dashboard": {"enabled": True}}
    },
}
REFUSED: dict[str, tuple[Values, str]] = {
    "a misspelt value": ({"replica": 3}, "replica"),
    "a misspelt value below another": ({"webhook": {"resource": []}}, "resource"),
    "a misspelt setting": ({"settings": {"statusWritesPerSecond": 3}}, "statusWritesPerSecond"),
    "a setting of another type": ({"settings": {"types": "apps/Deployment"}}, "types"),
    "a source of certificates that there is not": ({"webhook": {"certificate": {"source": "Vault"}}}, "source"),
    "a Secret without a name": ({"webhook": {"certificate": {"source": "Secret"}}}, "secretName"),
    "a Secret without who signed it": (
        {"webhook": {"certificate": {"source": "Secret", "secretName": "mine"}}},
        "caBundle",
    ),
    "PEM in place of its base64": (
        {"webhook": {"certificate": {"caBundle": "-----BEGIN CERTIFICATE-----"}}},
        "caBundle",
    ),
    "readers without tokens": ({"opa": {"readers": {"enabled": True}}}, "tokensSecret"),
    "views without a certificate": ({"views": {"enabled": True}}, "tlsSecret"),
    "a timeout that no API server has": ({"webhook": {"timeoutSeconds": 60}}, "timeoutSeconds"),
    "a name that no namespace has": ({"policyNamespaces": ["Policies"]}, "policyNamespaces"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("helm")


@pytest.fixture(scope="module")
def rendered(home: Path) -> Objects:
    """The chart with its own values."""
    return template(CHART, home)


@pytest.mark.long
def test_generated_manifests_are_up_to_date() -> None:
    assert stale() == [], "run `make manifests`"


@pytest.mark.long
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_helm_finds_nothing_wrong(values: Values, home: Path) -> None:
    file = home / "lint.yaml"
    file.write_text(yaml.safe_dump(dict(values)))
    helm("lint", "--strict", "--namespace", "policy-bridge", "--values", file, CHART, home=home)
    template(CHART, home, values)


@pytest.mark.parametrize(("values", "named"), REFUSED.values(), ids=REFUSED.keys())
def test_values_that_make_no_sense_are_refused_by_name(values: Values, named: str, home: Path) -> None:
    with pytest.raises(HelmError, match=named):
        template(CHART, home, values)


def test_settings_that_follow_from_other_values_are_refused_by_name(home: Path) -> None:
    """They would contradict the Pod, its permissions, or the webhook configuration."""
    made = yaml.safe_load(one(template(CHART, home), "ConfigMap")["data"]["bridge.yaml"])
    taken = {"log_format"}
    assert made.keys() - taken <= set(OWN_SETTINGS)
    with pytest.raises(HelmError) as refused:
        template(CHART, home, {"settings": dict.fromkeys(OWN_SETTINGS, "x")})
    said = str(refused.value)
    assert [setting for setting in OWN_SETTINGS if f"'{setting}'" not in said] == []


@pytest.mark.parametrize(
    "chosen",
    [
        "as it is",
        "of all namespaces",
        "policies in the bridge's own namespace",
        "no webhook",
        "observing",
        "another name",
    ],
)
def test_rights_are_those_that_the_command_prints_for_its_settings(chosen: str, home: Path) -> None:
    objects = template(CHART, home, VALUES[chosen])
    granted = {
        (role["metadata"].get("namespace", ""), rule)
        for role in objects
        if role["kind"] in {"ClusterRole", "Role"}
        for rule in _single(role["rules"])
    }
    needed = rules(read_needs(_settings(objects, home), KindSource())[0])
    assert granted == {(namespace, rule) for namespace, found in needed.items() for rule in _single(found)}


@pytest.mark.long
@pytest.mark.parametrize("values", [one for name, one in VALUES.items() if name not in {"no webhook", "observing"}])
def test_the_command_prints_both_webhook_configurations(values: Values, home: Path) -> None:
    objects = template(CHART, home, values)
    chosen = {**yaml.safe_load((CHART / "values.yaml").read_text())["webhook"], **values.get("webhook", {})}
    arguments = ["webhook-config", "--config", str(_settings(objects, home))]
    arguments += [f"--resource={resource}" for resource in chosen["resources"]]
    arguments += [f"--exempt-namespace={namespace}" for namespace in chosen["exemptNamespaces"]]
    printed = CliRunner().invoke(pbctl, arguments)
    assert printed.exit_code == 0, printed.output
    documents = list(yaml.safe_load_all(printed.stdout))
    assert [document["kind"] for document in documents] == [which.kind for which in KINDS]
    for expected in documents:
        (made,) = [obj for obj in objects if obj["kind"] == expected["kind"]]
        if authority := _authority(objects) or chosen["certificate"].get("caBundle"):
            for webhook in expected["webhooks"]:
                webhook["clientConfig"]["caBundle"] = authority
        assert made["webhooks"] == expected["webhooks"]
        assert made["metadata"]["name"] == expected["metadata"]["name"]


def test_decisions_about_whole_reviews_get_deletions_and_connections(home: Path, rendered: Objects) -> None:
    def operations(objects: Objects) -> dict[str, set[str]]:
        [made] = [obj for obj in objects if obj["kind"] == "ValidatingWebhookConfiguration"]
        return {
            webhook["name"].partition(".")[0]: {
                operation for rule in webhook["rules"] for operation in rule["operations"]
            }
            for webhook in made["webhooks"]
        }

    assert "requests" not in operations(rendered)
    found = operations(template(CHART, home, VALUES["decisions about whole reviews"]))
    assert found["requests"] == {"DELETE", "CONNECT"}


def test_client_certificates_are_verified_by_the_authority_in_the_config_map(home: Path) -> None:
    clients = {"configMap": "api-servers", "commonNames": ["kube-apiserver"]}
    objects = template(CHART, home, {"webhook": {"clientCertificates": clients}})
    settings = load_settings(_settings(objects, home), environ={})
    assert settings.webhook_client_names == ("kube-apiserver",)
    pod = one(objects, "Deployment")["spec"]["template"]["spec"]
    (volume,) = [volume for volume in pod["volumes"] if volume.get("configMap", {}).get("name") == "api-servers"]
    (mount,) = [mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == volume["name"]]
    assert settings.webhook_client_ca_file == f"{mount['mountPath']}/ca.crt"


def test_observer_writes_nothing_and_serves_no_admission(home: Path) -> None:
    objects = template(CHART, home, VALUES["observing"])
    settings = load_settings(_settings(objects, home), environ={})
    assert (settings.read_only, settings.webhook_listen) == (True, None)
    kinds = {obj["kind"] for obj in objects}
    assert not kinds & {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "Secret"}
    verbs = {verb for obj in objects for rule in obj.get("rules", ()) for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch"}


def test_settings_of_the_values_go_over_those_of_the_chart(home: Path) -> None:
    objects = template(CHART, home, {"settings": {"types": ["apps/Deployment"], "log_format": "console"}})
    settings = load_settings(_settings(objects, home), environ={})
    assert (settings.types, settings.log_format, settings.lease_namespace) == (
        ("apps/Deployment",),
        "console",
        "policy-bridge",
    )


def test_rights_of_the_values_stand_in_place_of_the_charts(home: Path) -> None:
    mine = [{"apiGroups": ["acme.io"], "resources": ["ratepolicies"], "verbs": ["get"]}]
    values = {"rbac": {"clusterRules": mine, "rules": {"policy-bridge": mine}, "extraClusterRules": mine}}
    objects = template(CHART, home, values)
    assert one(objects, "ClusterRole")["rules"] == [*mine, *mine]
    assert [obj["rules"] for obj in objects if obj["kind"] == "Role"] == [mine]


def test_a_pod_has_no_privilege_and_writes_nowhere_but_to_its_scratch(rendered: Objects) -> None:
    pod = one(rendered, "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    scratch = {volume["name"] for volume in pod["volumes"] if "emptyDir" in volume}
    assert [container["name"] for container in pod["containers"]] == ["bridge", "opa"]
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
        assert {"livenessProbe", "readinessProbe", "startupProbe"} <= container.keys()
        assert {mount["name"] for mount in container["volumeMounts"] if not mount.get("readOnly")} <= scratch


def test_the_bridges_container_has_memory_for_a_check_of_rego_and_for_reading_costly_text(home: Path) -> None:
    pod = one(template(CHART, home, {}), "Deployment")
    limit = pod["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"]
    bridge = 190 << 20
    assert int(limit.removesuffix("Mi")) << 20 >= bridge + DEFAULT_MEMORY + MOST_MEMORY


@pytest.mark.parametrize(
    ("memory", "limit"), [("2Gi", "1638MiB"), ("1.5Gi", "1228MiB"), ("500Mi", "400MiB"), ("2G", None), (None, None)]
)
def test_opa_collects_garbage_by_its_memory_limit(memory: str | None, limit: str | None, home: Path) -> None:
    pod = one(template(CHART, home, {"opa": {"resources": {"limits": {"memory": memory}}}}), "Deployment")
    opa = pod["spec"]["template"]["spec"]["containers"][1]
    found = {entry["name"]: entry["value"] for entry in opa.get("env", [])}
    assert found == ({"GOGC": "400", "GOMEMLIMIT": limit} if limit else {})


def test_the_bridge_alone_has_a_token(rendered: Objects) -> None:
    pod = one(rendered, "Deployment")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert one(rendered, "ServiceAccount")["automountServiceAccountToken"] is False
    has_token = {volume["name"] for volume in pod["volumes"] if "projected" in volume}
    mounted = {one["name"]: has_token & {mount["name"] for mount in one["volumeMounts"]} for one in pod["containers"]}
    assert mounted == {"bridge": has_token, "opa": set()}


def test_a_pod_goes_only_when_another_is_ready_and_answers_while_it_goes(rendered: Objects, home: Path) -> None:
    deployment = one(rendered, "Deployment")["spec"]
    assert deployment["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    assert deployment["replicas"] == 2
    pod = deployment["template"]["spec"]
    settings = load_settings(_settings(rendered, home), environ={})
    (waits,) = [int(text.partition("=")[2]) for text in pod["containers"][1]["args"] if "wait-period" in text]
    assert 0 < settings.shutdown_drain < settings.shutdown_grace <= waits, "OPA outlives the bridge"
    assert waits < pod["terminationGracePeriodSeconds"]
    assert one(rendered, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


def test_only_the_bridge_reaches_opa_unless_readers_have_tokens(home: Path, rendered: Objects) -> None:
    def arguments(objects: Objects) -> list[str]:
        found: list[str] = _containers(objects)[1]["args"]
        return found

    socket, config = "unix:///run/policy-bridge/opa.sock", "/etc/policy-bridge/settings/opa.yaml"
    assert [text for text in arguments(rendered) if text.startswith("--addr=")] == [f"--addr={socket}"]
    assert [port["name"] for port in one(rendered, "Service")["spec"]["ports"]] == ["webhook", "metrics"]
    guarded = template(CHART, home, VALUES["readers of OPA"])
    policy = "/etc/policy-bridge/settings/authz.rego"
    assert set(opa_arguments(config, policy, [socket, ":8181"])) <= set(arguments(guarded))
    settings = load_settings(_settings(guarded, home), environ={})
    mounted = {mount["mountPath"] for mount in _containers(guarded)[0]["volumeMounts"]}
    assert {
        settings.opa_readers,
        settings.opa_token_file.rpartition("/")[0] if settings.opa_token_file else "",
    } <= mounted


def test_views_are_served_with_keys_that_the_release_keeps(home: Path, tmp_path: Path, rendered: Objects) -> None:
    assert "policy-bridge-views" not in {obj["metadata"]["name"] for obj in rendered}
    objects = template(CHART, home, VALUES["views for other OPAs"])
    secret = one(objects, "Secret", "policy-bridge-views")
    assert secret["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    for name, content in secret["data"].items():
        (tmp_path / name).write_bytes(base64.b64decode(content))
    assert len(kept_credentials(tmp_path).token) == 43
    settings = load_settings(_settings(objects, home), environ={})
    mounted = {mount["mountPath"] for mount in _containers(objects)[0]["volumeMounts"]}
    places = {settings.publish_credentials, settings.publish_tokens, "/etc/policy-bridge/views-tls"}
    assert places <= mounted
    assert {settings.publish_cert_file, settings.publish_key_file} == {
        f"/etc/policy-bridge/views-tls/tls.{part}" for part in ("crt", "key")
    }
    secrets = {
        volume["name"]: volume["secret"]["secretName"] for volume in _pod(objects)["volumes"] if "secret" in volume
    }
    assert {name: secrets[name] for name in ("views", "views-tls", "views-tokens")} == {
        "views": "policy-bridge-views",
        "views-tls": "views-tls",
        "views-tokens": "views-tokens",
    }
    [logins] = [volume["secret"] for volume in _pod(objects)["volumes"] if volume["name"] == "views-registry"]
    assert (logins["secretName"], logins["items"][0]["path"]) == ("views-registry", "config.json")
    [variable] = _containers(objects)[0]["env"]
    assert variable["name"] == "DOCKER_CONFIG"
    assert variable["value"] in mounted
    assert "views" in {port["name"] for port in one(objects, "Service")["spec"]["ports"]}
    mine = template(CHART, home, {"views": {"enabled": True, "tlsSecret": "a", "credentialsSecret": "mine"}})
    assert not [obj for obj in mine if obj["metadata"]["name"] == "policy-bridge-views"]


def test_helm_creates_a_certificate_by_an_authority_that_signs_nothing_else(rendered: Objects) -> None:
    secret = one(rendered, "Secret", "policy-bridge-webhook")
    assert (secret["type"], sorted(secret["data"])) == ("kubernetes.io/tls", ["ca.crt", "tls.crt", "tls.key"])
    authority, served = (
        x509.load_pem_x509_certificate(base64.b64decode(secret["data"][name])) for name in ("ca.crt", "tls.crt")
    )
    served.verify_directly_issued_by(authority)
    names = served.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    host = "policy-bridge.policy-bridge.svc"
    assert names.get_values_for_type(x509.DNSName) == [host, f"{host}.cluster.local"]
    assert served.not_valid_after_utc - served.not_valid_before_utc > dt.timedelta(days=3600)
    mounted = [volume.get("secret", {}).get("secretName") for volume in _pod(rendered)["volumes"]]
    assert "policy-bridge-webhook" in mounted


@pytest.mark.parametrize(("source", "kinds"), [("", {"Certificate", "Issuer"}), ("Helm", {"Secret"})])
def test_cert_manager_is_used_where_its_crds_are_unless_helm_is_chosen(
    home: Path, source: str, kinds: set[str]
) -> None:
    values = {"webhook": {"certificate": {"source": source}}}
    objects = template(CHART, home, values, api_versions="cert-manager.io/v1")
    assert {obj["kind"] for obj in objects} & {"Certificate", "Issuer", "Secret"} == kinds


def test_the_trusted_authority_stays_when_cert_manager_renews_certificates(home: Path) -> None:
    """Pods serve the certificate before until their kubelet has seen the new one: both must be of one authority."""
    objects = template(CHART, home, VALUES["cert-manager"])
    (injected,) = {
        one(objects, which.kind)["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] for which in KINDS
    }
    served = one(objects, "Certificate", injected.partition("/")[2])["spec"]
    assert served["secretName"] in {
        volume["secret"]["secretName"]
        for volume in one(objects, "Deployment")["spec"]["template"]["spec"]["volumes"]
        if "secret" in volume
    }
    issuer = one(objects, "Issuer", served["issuerRef"]["name"])["spec"]
    (authority,) = [
        obj["spec"]
        for obj in objects
        if obj["kind"] == "Certificate" and obj["spec"]["secretName"] != served["secretName"]
    ]
    assert issuer == {"ca": {"secretName": authority["secretName"]}}
    assert authority["isCA"] is True
    assert authority["privateKey"]["rotationPolicy"] == "Never"
    assert int(authority["renewBefore"][:-1]) > int(served["duration"][:-1]), "a renewed authority is known in time"
    assert one(objects, "Issuer", authority["issuerRef"]["name"])["spec"] == {"selfSigned": {}}


def test_a_long_name_leaves_the_authority_one_that_a_certificate_can_have(home: Path) -> None:
    values = {"fullnameOverride": "n" * 63, "webhook": {"certificate": {"source": "CertManager"}}}
    (authority,) = [obj["spec"] for obj in template(CHART, home, values) if obj.get("spec", {}).get("isCA")]
    assert len(authority["commonName"]) <= 64


def test_an_issuer_of_the_users_own_signs_alone(home: Path) -> None:
    mine = {"kind": "ClusterIssuer", "name": "platform"}
    objects = template(CHART, home, {"webhook": {"certificate": {"source": "CertManager", "issuerRef": mine}}})
    assert [obj["kind"] for obj in objects if "cert-manager" in obj["apiVersion"]] == ["Certificate"]
    assert one(objects, "Certificate", "policy-bridge-webhook")["spec"]["issuerRef"] == mine


def test_another_configuration_makes_other_pods(home: Path, rendered: Objects) -> None:
    def checksum(objects: Objects) -> str:
        metadata = one(objects, "Deployment")["spec"]["template"]["metadata"]
        return str(metadata["annotations"]["checksum/config"])

    assert checksum(template(CHART, home, {"settings": {"log_level": "debug"}})) != checksum(rendered)
    assert checksum(template(CHART, home, {"replicas": 5})) == checksum(rendered)


def test_crds_and_namespaces_of_policies_stay_when_the_release_goes(rendered: Objects) -> None:
    for obj in rendered:
        if obj["kind"] in {"CustomResourceDefinition", "Namespace"}:
            assert obj["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_the_bridge_reaches_an_api_server_at_the_ports_that_values_name(home: Path, rendered: Objects) -> None:
    def ports(objects: Objects) -> list[int]:
        return [port["port"] for port in one(objects, "NetworkPolicy")["spec"]["egress"][1]["ports"]]

    assert ports(rendered) == [443, 6443]
    assert ports(template(CHART, home, {"networkPolicy": {"apiServerPorts": [16443]}})) == [16443]


def test_alerts_and_dashboard_are_those_beside_the_chart(home: Path) -> None:
    objects = template(CHART, home, VALUES["monitoring"])
    rules_file = CHART.parent / "alerts" / "policy-bridge.rules.yaml"
    assert one(objects, "PrometheusRule")["spec"]["groups"] == yaml.safe_load(rules_file.read_text())["groups"]
    board = one(objects, "ConfigMap", "policy-bridge-dashboard")["data"]["policy-bridge.json"]
    assert json.loads(board) == json.loads((CHART.parent / "grafana" / "policy-bridge.json").read_text())


def test_each_value_is_described() -> None:
    readme = (CHART / "README.md").read_text()

    def check(values: dict[str, Any], above: str) -> None:
        for key, value in values.items():
            path = f"{above}{key}"
            if f"| `{path}` |" not in readme:
                assert isinstance(value, dict), f"{path} has no comment `# --` in values.yaml"
                check(value, f"{path}.")

    check(yaml.safe_load((CHART / "values.yaml").read_text()), "")


def _authority(objects: Objects) -> str:
    """The authority of the certificate that Helm has created, as base64 of PEM; empty without one."""
    secrets = (obj["data"] for obj in objects if obj["kind"] == "Secret")
    return next((str(data["ca.crt"]) for data in secrets if "ca.crt" in data), "")


def _pod(objects: Objects) -> dict[str, Any]:
    found: dict[str, Any] = one(objects, "Deployment")["spec"]["template"]["spec"]
    return found


def _containers(objects: Objects) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return found


def _settings(objects: Objects, home: Path) -> Path:
    """The settings as a Pod has them, in a file."""
    (text,) = [obj["data"]["bridge.yaml"] for obj in objects if "bridge.yaml" in obj.get("data", {})]
    file = home / "bridge.yaml"
    file.write_text(text)
    return file


def _single(found: list[dict[str, Any]]) -> set[tuple[str, str, str, str]]:
    """Rules taken apart: a verb on a resource of a name each."""
    return {
        (group, resource, name, verb)
        for rule in found
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }


def test_images_are_taken_by_digest_where_values_name_one(tmp_path: Path) -> None:
    ours, opa = f"sha256:{64 * 'a'}", f"sha256:{64 * 'b'}"
    objects = template(CHART, tmp_path, {"image": {"digest": ours}, "opa": {"image": {"digest": opa}}})
    spec = one(objects, "Deployment")["spec"]["template"]["spec"]
    images = {container["name"]: container["image"] for container in (*spec["initContainers"], *spec["containers"])}
    assert images == {
        "credentials": f"ghcr.io/policy-bridge/policy-bridge@{ours}",
        "bridge": f"ghcr.io/policy-bridge/policy-bridge@{ours}",
        "opa": f"docker.io/openpolicyagent/opa@{opa}",
    }
