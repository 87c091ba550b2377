# METADATA
# title: Keys
# description: |
#   The text form of an object or a section of an object, `<group>/<Kind>/<namespace>/<name>[#<section>][@frontend]`.
package bridge.lib.keys

gateway_api := "gateway.networking.k8s.io"

# The parts of a key. `object` is the key of the whole object, `type` is `<group>/<Kind>`.
parse(key) := {
	"group": group,
	"kind": kind,
	"namespace": namespace,
	"name": name,
	"section": section,
	"role": role,
	"object": object_key,
	"type": type,
} if {
	# One match, because every query parses some dozens of keys.
	[found] := regex.find_all_string_submatch_n(_form, key, 1)
	[_, object_key, type, group, kind, namespace, name, _, section, _, role] := found
}

_form := `^((([^/#@]+)/([^/#@]+))/([^/#@]+)/([^/#@]+))(#([^#@]+))?(@([^#@]+))?$`

of(obj) := of_typed(type(obj.apiVersion, obj.kind), obj)

# The same for an object of a known type.
of_typed(type_id, obj) := concat("/", [type_id, namespace_name(object.get(obj.metadata, "namespace", "")), obj.metadata.name])

type(api_version, kind) := concat("/", [group(api_version), kind])

# The key with these parts; an empty group is `core`, an empty namespace `-`.
format(grp, kind, namespace, name) := concat("/", [group_name(grp), kind, namespace_name(namespace), name])

# The group that a ref names, in the form of keys. `core` is only the text form of the group "", so a ref with that text
# names objects of a group that no API server has.
ref_group(text) := "core." if {
	text == "core"
} else := group_name(text)

# The text of a grant or a listener is the group of a key. Gateway API compares the text, so one with a version is no group.
is_group(text, grp) if {
	not contains(text, "/")
	ref_group(text) == grp
}

# The key of the object that a ref names; see `format` and `ref_group`. Undefined if a part is empty, is not a string, or
# contains `/`, `#`, `@`, a blank or a control character, which would make it another key or none: such an object cannot
# exist. A group may have a version.
named(grp, kind, namespace, name) := key if {
	key := concat("/", [ref_group(grp), kind, namespace_name(namespace), name])
	regex.match(`^([^/#@\s\p{Z}\p{C}]+/){3}[^/#@\s\p{Z}\p{C}]+$`, key)
}

section(object_key, name) := concat("#", [object_key, name])

# The type of a key, `<group>/<Kind>`, for callers that need no other part.
type_of(key) := regex.find_n(`^[^/]*(/[^/]*)?`, key, 1)[0]

# The key of the object of a node, its section or its role.
object_of(node) := split(split(node, "#")[0], "@")[0]

# The object or frontend of a node or of its section.
whole(node) := split(node, "#")[0]

# The home of the object of a key, `<group>/<Kind>/<namespace>`, by which entries of the index are grouped.
home(key) := regex.find_n(`^[^/]*(/[^/]*){0,2}`, key, 1)[0]

group(api_version) := split(api_version, "/")[0] if {
	contains(api_version, "/")
} else := "core"

version(api_version) := parts[count(parts) - 1] if parts := split(api_version, "/")

# A group in the form of keys. A version in it is dropped (semantics T1).
group_name(text) := "core" if text == ""
group_name(text) := split(text, "/")[0] if text != ""

# A group in Kubernetes' form, empty for the core group.
api_group("core") := ""
api_group(group) := group if group != "core"

namespace_name(text) := "-" if text == ""
namespace_name(text) := text if text != ""

# The namespace of a key in Kubernetes' form, empty for a cluster-scoped object.
namespace(key) := object.get({"-": ""}, name, name) if name := parse(key).namespace

# `<namespace>/<name>`, the order of objects with the same age (GEP-713, "Established and challenger policy specs";
# semantics F1). For a cluster-scoped object it begins with the slash.
alphabetical(key) := concat("/", [object.get({"-": ""}, parts.namespace, parts.namespace), parts.name]) if parts := parse(key)

# The name of an object in messages, `<namespace>/<name>`, or only its name if it is cluster-scoped.
short(key) := trim_prefix(alphabetical(key), "/")

# The name of a node in messages, `<Kind>/<namespace>/<name>[#<section>]`, which commands accept.
describe(node) := sprintf("%s/%s of a group core", [parse(node).kind, short(node)]) if {
	startswith(node, "core./")
} else := sprintf("%s/%s%s", [parts.kind, short(node), trim_prefix(split(node, "@")[0], parts.object)]) if {
	parts := parse(node)
}

# A kind with its article in messages: an HTTPRoute, a UDPRoute.
with_article(kind) := sprintf("an %s", [kind]) if {
	regex.match(`^([AEIO]|HTTP)`, kind)
} else := sprintf("a %s", [kind])

# A node is a mesh frontend: a Service, or another possible backend, as the parent of a route. It is a different
# node than the same object as a backend (semantics K4).
is_frontend(node) if endswith(node, "@frontend")

frontend(object_key) := concat("", [object_key, "@frontend"])
