# Ports of the host that Pods may take.
package scenarios.host_ports

violation contains {"msg": sprintf("host port %d is not between %d and %d", [port.hostPort, min, max])} if {
	min := input.parameters.min
	max := input.parameters.max
	some port in input.review.object.spec.containers[_].ports
	_outside(port.hostPort, min, max)
}

_outside(port, min, _) if port < min

_outside(port, _, max) if port > max
