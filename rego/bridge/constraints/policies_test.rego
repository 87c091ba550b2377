# Policies as an admin writes them, with Gatekeeper's contract.
package testing.labels

violation contains {"msg": msg, "details": {"missing": missing}} if {
	missing := {label | some label in input.parameters.labels} - object.keys(object.get(input.review.object.metadata, "labels", {}))
	count(missing) > 0
	msg := sprintf("missing labels: %s", [concat(", ", sort(missing))])
}
