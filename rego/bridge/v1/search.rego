package bridge.v1

import data.bridge.queries

# METADATA
# description: |
#   The policies with a field whose name or value has one of `words` (in lower case), and that have all of them with their
#   own name: `[{policy, fields: [{field, value}]}]`, at most 200.
# entrypoint: true
search := problem if {
	problem := queries.not_ready
} else := problem if {
	problem := queries.problem([["words", {"type": "array", "items": {"type": "string", "minLength": 1}}, "words must be a list of texts"]])
} else := queries.found_fields
