"""Semantics K5: what a folder makes of a manifest is what the API server makes of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from bridge.sources.defaults import Defaulter
from bridge.sources.manifests import read_content
from tests.controlplane.kubectl import Kubectl

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from pathlib import Path

    from tests.controlplane.plane import ControlPlane

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tints.defaulting.example.com}
spec:
  group: defaulting.example.com
  names: {kind: Tint, plural: tints, singular: tint, listKind: TintList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            default: {}
            properties:
              color: {type: string, default: red}
              shade: {type: string}
              depth: {type: integer, nullable: true, default: 3}
              layers:
                type: array
                items:
                  type: object
                  properties: {opacity: {type: integer, default: 100}, name: {type: string}}
              marks:
                type: object
                additionalProperties: {type: object, properties: {size: {type: integer, default: 1}}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            default: {phase: New}
            properties: {phase: {type: string}}
"""

OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: defaulting, labels: {on: "yes"}}
---
apiVersion: defaulting.example.com/v1
kind: Tint
metadata: {name: bare, namespace: defaulting}
---
apiVersion: defaulting.example.com/v1
kind: Tint
metadata: {name: full, namespace: defaulting, annotations: null}
spec:
  color: null
  shade: null
  depth: null
  layers: [{name: a}, {name: null, opacity: 0o17}]
  marks: {a: {}, b: {size: 1e1}}
  free: {a: null, "12": 12:30, date: 2024-01-01}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: defaulting, namespace: ignored}
spec: {controllerName: example.com/controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: defaulting}
spec:
  gatewayClassName: defaulting
  addresses: [{value: 10.0.0.1}]
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - {name: some, port: 81, protocol: HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute}]}}
  - {name: tls, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}, allowedRoutes: null}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: bare, namespace: defaulting}
spec: {hostnames: null}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: HTTPRoute
metadata: {name: full, namespace: defaulting}
spec:
  parentRefs: [{name: gw}, {kind: Service, group: "", name: cart, port: 80}]
  rules:
  - backendRefs: [{name: cart, port: 80}]
  - name: named
    matches: [{path: {value: /a}, headers: [{name: x, value: one}]}, {method: GET}]
    filters:
    - {type: RequestRedirect, requestRedirect: {hostname: a.example.com}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: grpc, namespace: defaulting}
spec: {parentRefs: [{name: gw}], rules: [{matches: [{method: {service: a}}], backendRefs: [{name: cart, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: set, namespace: defaulting}
spec: {parentRef: {name: gw}, listeners: [{name: more, port: 82, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: grant, namespace: defaulting}
spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: a}], to: [{group: "", kind: Service}]}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: defaulting}
spec:
  clusterIP: null
  ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP, targetPort: dns}]
"""

# What only a cluster gives: identity, times, and what it allots to Services and Namespaces.
GIVEN_BY_CLUSTER = {
    "metadata": {"uid", "resourceVersion", "creationTimestamp", "managedFields", "annotations"},
    "Service": {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"},
    "Namespace": {"finalizers"},
}


@pytest.fixture
def kubectl(own_control_plane: ControlPlane, kubectl_path: Path) -> Kubectl:
    return Kubectl(kubectl_path, own_control_plane)


def test_a_manifest_with_its_defaults_is_the_object_that_the_api_server_stores(
    own_control_plane: ControlPlane, kubectl: Kubectl
) -> None:
    kubectl("create", "-f", "-", text=CRD)
    own_control_plane.api.wait_for_crds({"tints.defaulting.example.com"})
    # Not `apply`: on the server's side that refuses nulls, where a create drops them.
    kubectl("create", "-f", "-", text=OBJECTS)
    stored = json.loads(kubectl("get", "-o", "json", "-f", "-", text=OBJECTS))["items"]
    stored = [without_cluster(obj) for obj in stored]

    content = read_content(OBJECTS.encode(), "objects.yaml", retried=False)
    assert content.troubles == ()
    defaulter = Defaulter([yaml.safe_load(CRD)])
    completed = [without_cluster(defaulter.complete(manifest.object)) for manifest in content.manifests]
    assert len(stored) == len(completed)
    for ours, theirs in zip(completed, stored, strict=True):
        assert ours == theirs


def without_cluster(obj: dict[str, Any]) -> dict[str, Any]:
    """An object without what only a cluster gives it."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in GIVEN_BY_CLUSTER["metadata"]}
    given = GIVEN_BY_CLUSTER.get(obj["kind"], set())
    clean = {**obj, "metadata": metadata}
    if obj["kind"] in GIVEN_BY_CLUSTER:
        clean["spec"] = {name: value for name, value in obj.get("spec", {}).items() if name not in given}
        clean.pop("status", None)
    return clean
