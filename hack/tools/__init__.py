"""Tools of developers: `opa`, etcd, kube-apiserver, kubectl, helm, promtool and the Gateway API CRDs.

They are downloaded, or built by Go. Run `python -m hack.tools` on the command line.
"""

from __future__ import annotations

from hack.tools.catalog import GATEWAY_API_VERSION, TOOLS
from hack.tools.crds import CHANNELS, ensure_crds, find_crds
from hack.tools.finding import ensure, find

__all__ = ["CHANNELS", "GATEWAY_API_VERSION", "TOOLS", "ensure", "ensure_crds", "find", "find_crds"]
