package testing.limits

violation contains {"msg": sprintf("%v replicas are more than %v", [replicas, input.parameters.limit])} if {
	replicas := input.review.object.spec.replicas
	replicas > input.parameters.limit
}
