# OPA evaluates `data.system.main` for a POST to its root, with the body as input.
package system

main := {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}

response := {"uid": input.request.uid, "allowed": count(_errors) == 0, "patchType": "JSONPatch", "patch": _patch}

_errors := errors if errors := data.io.k8s.federation.admission.errors with input as input.request.object

_annotations := found if found := data.io.k8s.federation.admission.annotations with input as input.request.object

_patch := base64.encode(json.marshal([{"op": "add", "path": "/metadata/annotations", "value": _texts}]))

_texts := object.union(
	input.request.object.metadata.annotations,
	{name: json.marshal(value) | some name, value in _annotations},
)
