package bridge.v1

import data.bridge.lib.keys
import data.bridge.lookup
import data.bridge.queries

# METADATA
# description: |
#   The Services that select the Pods of each of `workloads` (Pods, Deployments and others with a template), by workload.
# entrypoint: true
selecting_services := problem if {
	problem := queries.problem([["workloads", "keys"]])
} else := {workload: sort(services) |
	some workload in input.workloads
	labels := _pod_labels(lookup.get(workload))
	namespace := keys.namespace(workload)
	services := {keys.format("", "Service", namespace, name) |
		some name, service in lookup.objects_in("core/Service", namespace)
		_selects(service.spec.selector, labels)
	}
}

_pod_labels(workload) := workload.spec.template.metadata.labels if {
	workload.kind != "Pod"
} else := workload.metadata.labels

# A Service without a selector selects no Pods.
_selects(selector, labels) if {
	count(selector) > 0
	every name, value in selector {
		labels[name] == value
	}
}
