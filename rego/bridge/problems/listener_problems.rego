package bridge.problems

import data.bridge.hierarchy
import data.bridge.index
import data.bridge.kinds
import data.bridge.lib.implementations
import data.bridge.lib.keys
import data.bridge.lib.levels
import data.bridge.lookup

# What an API server accepts in the listeners of a Gateway or ListenerSet, and implementations do not.
listener_problems(key) := union({_unusable_kinds(key), _without_certificate(key), _refused_certificates(key)}) if {
	levels.by_type[keys.type_of(key)].section == "Listener"
} else := set()

# A kind in allowedRoutes.kinds that is not one of routes, or that the listener's protocol excludes (Gateway API,
# ListenerReasonInvalidRouteKinds): the other kinds of the list count.
_unusable_kinds(key) := {{"subject": key, "about": key, "reason": "InvalidRouteKinds", "value": value, "message": message} |
	some listener in hierarchy.listeners(key)
	some place, entry in listener.allowedRoutes.kinds
	group := object.get(entry, "group", keys.gateway_api)
	type := concat("/", [keys.ref_group(group), entry.kind])
	problem := _problem_of_kind(listener, group, entry.kind, type)
	node := keys.section(key, listener.name)
	value := concat(" ", [listener.name, type])
	message := sprintf("%s: allowedRoutes.kinds[%d]: %s", [keys.describe(node), place, problem])
}

_problem_of_kind(listener, group, kind, type) := message if {
	[message, _] := kinds.problem_of_reference(group, kind)
} else := sprintf("a listener with the protocol %s takes no %ss", [listener.protocol, split(type, "/")[1]]) if {
	levels.by_type[type].object == "Route"
	not hierarchy.fits_protocol(listener, type)
} else := sprintf("%s is not a kind of route", [split(type, "/")[1]]) if {
	level := levels.by_type[type]
	level.object != "Route"
}

# Gateway API requires `tls` of an HTTPS listener (Listener.tls), and its CRD does not. It is a warning if the
# implementation is not known.
_without_certificate(key) := {object.union({"subject": key, "about": key, "reason": "CertificateMissing", "value": listener.name, "message": message}, weight) |
	some listener in hierarchy.listeners(key)
	listener.protocol == "HTTPS"
	object.get(listener, "tls", {}) == {}
	gateways := {gateway | gateway := hierarchy.gateway_of_listeners(key)}
	not _has_own_certificates(gateways)
	node := keys.section(key, listener.name)
	message := sprintf("%s has the protocol HTTPS and no tls.certificateRefs, which Gateway API requires: implementations reject such a listener", [keys.describe(node)])
	weight := _weight_without_certificate(gateways)
}

_refused_certificates(key) := {{"subject": key, "about": key, "reason": "RefNotPermitted", "value": listener.name, "message": message} |
	some listener in hierarchy.listeners(key)
	refused := hierarchy.refused_certificates(key, listener)
	refused != {}
	message := sprintf("%s cannot use %d of its %d certificates: %s", [
		keys.describe(keys.section(key, listener.name)), count(refused), count(listener.tls.certificateRefs),
		concat("; ", sort([reason | some reason in refused])),
	])
}

_weight_without_certificate(gateways) := {} if {
	some gateway in gateways
	_controller(gateway)
} else := {"enforcementAction": "warn"}

_controller(gateway) := lookup.get(index.facts(gateway).class[0]).spec.controllerName

_has_own_certificates(gateways) if {
	some gateway in gateways
	_controller(gateway) in implementations.with_own_certificates
}

_has_own_certificates(gateways) if {
	some gateway in gateways
	some annotation in implementations.certificate_annotations
	lookup.get(gateway).metadata.annotations[annotation]
}
