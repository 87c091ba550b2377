package bridge.constraints

import data.bridge.effective
import data.bridge.lib.keys
import data.bridge.lookup

# METADATA
# description: |
#   The exemption of a Constraint's spec for a subject, the first that matches and has not expired: `{number, owner, reason,
#   until}`. Undefined if there is none.
exemption_of(spec, it) := [object.union(object.remove(exemption, ["match"]), {"number": number}) |
	some number, exemption in spec.exemptions
	_is_valid(exemption)
	matches(exemption.match, it)
][0] if spec.exemptions

# Until the end of its last day, UTC.
_is_valid(exemption) if exemption.until >= sprintf("%04d-%02d-%02d", time.date(time.now_ns()))

# METADATA
# description: |
#   What a Constraint's author should know about its exemptions: those that have expired and, if the audit has `counted`
#   (`{exempted}`, the number of exempted violations by the number of the exemption), those that exempt nothing.
exemption_remarks(spec, counted) := [sprintf("exemptions[%d] of %s %s", [number, exemption.owner, remark]) |
	some number, exemption in object.get(spec, "exemptions", [])
	remark := _remark(number, exemption, counted)
]

_remark(_, exemption, _) := sprintf("expired on %s", [exemption.until]) if not _is_valid(exemption)

_remark(number, exemption, counted) := "exempts no violation" if {
	_is_valid(exemption)
	not counted.exempted[sprintf("%d", [number])]
	counted.exempted
}

# METADATA
# description: |
#   The exemptions of active Constraints with the guardrail `required_policy` for a node's object, which require a policy of
#   this kind with this field: `{constraint, number, owner, reason, until}`.
exemptions_of_requirement(kind, field, node) := {object.union(exemption, {"constraint": name}) |
	some name, spec in _requiring(kind, field)
	it := subject(lookup.get(keys.object_of(node)))
	matches(object.get(spec, "match", {}), it)
	exemption := exemption_of(spec, it)
}

_requiring(kind, field) := {name: spec |
	some name, spec in active_constraints
	spec.policy == "bridge.guardrails.required_policy"
	spec.exemptions
	kind in spec.parameters.kinds
	effective.segments(object.get(spec.parameters, "field", "")) == effective.segments(field)
}
