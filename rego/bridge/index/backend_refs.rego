package bridge.index

# METADATA
# description: |
#   The refs to backends of a rule: its backendRefs, then those of its filters and of its backends' own filters (Gateway
#   API, HTTPRequestMirrorFilter, HTTPExternalAuthFilter). A filter's backend gets requests too, so it is a backend of
#   the rule.
backend_refs(rule) := array.concat(_backend_refs(rule), filter_refs([rule]))

# METADATA
# description: The refs to backends in the filters of rules, and in the filters of the rules' own backends.
filter_refs(rules) := [ref |
	some filters in array.concat([rule.filters | some rule in rules], [ref.filters | some rule in rules; some ref in rule.backendRefs])
	some filter in filters
	ref := filter_ref(filter)
]

# METADATA
# description: The ref to the backend of a filter. Undefined for a filter without a backend.
filter_ref(filter) := filter[backend_filters[filter.type]].backendRef

# METADATA
# description: The types of the filters that have their own backend, each with its field (HTTPRouteFilter.type).
backend_filters := {"RequestMirror": "requestMirror", "ExternalAuth": "externalAuth"}

_backend_refs(rule) := rule.backendRefs if {
	is_array(rule.backendRefs)
} else := []
