package bridge.v1

import data.bridge.expectations
import data.bridge.queries

# METADATA
# description: |
#   What of the `expected` values of a suite is not so at `entries`, the results of `effective` or `request` with `allPaths`
#   for one policy kind, on paths through the node `via`. Of `effective`, `target` and `policyKind` are those of its input.
# entrypoint: true
unmet := problem if {
	problem := queries.problem([
		["via", "optional node"],
		["target", "optional node"],
		["entries", {"type": "array"}, "entries must be a list"],
		["expected", {"type": "object"}, "expected must be an object"],
	])
} else := expectations.unmet(input.entries, input.expected, object.get(input, "via", ""), object.filter(input, ["target", "policyKind"]))
