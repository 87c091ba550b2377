# The registries that images may come from.
package scenarios.registries

violation contains {"msg": sprintf("%s: %s is none of %s", [container.name, registry, concat(", ", allowed)])} if {
	allowed := input.parameters["allowed-registries"]
	some container in input.review.object.spec.containers
	registry := split(container.image, "/")[0]
	not registry in allowed
}
