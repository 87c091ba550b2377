# Memory limits of containers, as quantities with binary suffixes.
package scenarios.defaults

violation contains {"msg": sprintf("container %s may have %s, not %s", [container.name, input.parameters.limit, wanted])} if {
	some container in input.review.object.spec.containers
	wanted := container.resources.limits.memory
	units.parse_bytes(wanted) > units.parse_bytes(input.parameters.limit)
}

violation contains {"msg": sprintf("container %s has no memory limit", [container.name])} if {
	some container in input.review.object.spec.containers
	not container.resources.limits.memory
}
