package bridge.v1

import data.bridge.lookup
import data.bridge.proxies
import data.bridge.proxies.envoy
import data.bridge.queries
import data.bridge.scopes as acting

# METADATA
# description: |
#   Facts from parts of the configuration of proxies, `{facts, abouts}`: the first step of `verify`, whose second step takes the
#   facts of its targets. `resources` has the parts by type, and `shared` what many of them have in common.
# entrypoint: true
proxy_facts := problem if {
	problem := queries.problem([["shared", "list"]])
} else := proxies.answer

# METADATA
# description: |
#   The places of matches whose requests an earlier one takes, for each of `hosts`: the matches of the routes of a virtual
#   host in their order. Routes at `strays` belong to no rule: they need only take a part.
# entrypoint: true
taken_routes := problem if {
	problem := queries.problem([["hosts", "list"], ["strays", "list"]])
} else := [sort(envoy.taken(matches) | envoy.overlapped(matches, input.strays[host])) | some host, matches in input.hosts]

# METADATA
# description: |
#   The comparison of what proxies have, `facts` and `proxies`, with what is in effect at `targets` and below them: `rows`
#   with a difference or that are not known, with `everything` all, and `counts` of all by their state.
# entrypoint: true
verify := problem if {
	problem := queries.problem([["targets", "keys"]])
} else := proxies.comparison

# METADATA
# description: |
#   The Pods that are the proxies of the Gateways above `nodes`, without `nodes` of all: `{gateway, port, selections}` each.
# entrypoint: true
proxy_pods := problem if {
	problem := queries.problem([["nodes", "optional keys"]])
} else := proxies.pods

# METADATA
# description: |
#   The effective targets that `verify` can compare: those at `targets` and below them; without `targets` all of policies.
# entrypoint: true
verified_targets := problem if {
	problem := queries.problem([["targets", "optional keys"]])
} else := sort({node | some [node, _] in queries.scopes_at(input.targets)}) if {
	input.targets
} else := sort({node | some kind in queries.policy_kinds; some policy in lookup.keys_of(kind); some node in acting.candidate_scopes(policy)})

# METADATA
# description: |
#   What explains each of `answers` of proxies, `{route, status, flags, details}`: the rule, and the fields of policies in
#   effect there.
# entrypoint: true
blame := problem if {
	problem := queries.problem([["answers", "list"]])
} else := proxies.explanations
