package io.k8s.federation.admission

annotations["example.com/clusters"] := clusters if input.metadata.annotations["example.com/eu"] == "true"

clusters := {name: {"weight": 1} | some name in ["gce-europe-west1", "gce-europe-west2"]}

errors contains "no image is named" if {
	some container in input.spec.template.spec.containers
	not container.image
}
