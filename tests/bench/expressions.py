"""Count the expressions that OPA evaluates for each query, on a folder."""

from pathlib import Path
from typing import Any

import aiohttp

from tests.bench.load import POLICY_KIND, Load, namespace_of, options_for, rule_key
from tests.bench.opa import expressions
from tests.bench.table import Figures
from tests.processes import BridgeProcess, Program

SMALL = 10  # the load has this fraction of the routes
RULE = rule_key(5, "[1]")


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the counts at a tenth of the routes."""
    load = Load(max(routes // SMALL, 100))
    route = load.routes_with_policy()[0]
    policy = f"{POLICY_KIND}/{namespace_of(route)}/route-{route}"
    small = {"targets": {}, "kept": {}, "former": [], "observed": True, "most": 100}
    change = {
        "keys": [policy],
        "was": {},
        "wanted": {"scopes": {}, "objects": {}, "policies": {}, "remediation": small},
    }
    inputs: dict[str, dict[str, Any]] = {
        "effective": {"targets": [RULE], "policyKind": POLICY_KIND},
        "explain": {"target": RULE},
        "links": {"keys": [policy]},
        "outdated": change,
    }
    options = options_for(folder, load.objects())
    async with BridgeProcess(folder, options, program=program) as bridge, aiohttp.ClientSession() as session:
        await bridge.logged("OPA synced")
        return {name: await expressions(session, bridge.opa_url, name, query) for name, query in inputs.items()}
