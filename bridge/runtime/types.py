"""What is always replicated: Gateway API's own kinds and what its rules read."""

from __future__ import annotations

GATEWAY_API = "gateway.networking.k8s.io"
ALWAYS = (
    "apiextensions.k8s.io/CustomResourceDefinition",
    "policybridge.io/PolicyKind",
    "policybridge.io/Constraint",
    "core/Namespace",
    "core/Service",
    *(
        f"{GATEWAY_API}/{kind}"
        for kind in (
            "GatewayClass",
            "Gateway",
            "ListenerSet",
            "HTTPRoute",
            "GRPCRoute",
            "TLSRoute",
            "TCPRoute",
            "UDPRoute",
            "ReferenceGrant",
        )
    ),
)
