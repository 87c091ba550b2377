package bridge.index

import data.bridge.lib.keys
import data.bridge.lib.levels

# METADATA
# description: |
#   Results of extension modules with an invalid form, `[module, message]`. They are ignored, so one wrong module never
#   stops a query.
extension_problems contains [name, "levels must be an object: <group>/<Kind> > {object, section}"] if {
	by_type := data.bridge.extensions.hierarchy[name].levels
	not is_object(by_type)
}

extension_problems contains [name, sprintf("levels: %v is not a type, write <group>/<Kind>", [type])] if {
	some name, by_type in levels.by_module
	some type, _ in by_type
	not levels.is_type(type)
}

extension_problems contains [name, sprintf("levels of %s: %v is not {object: a level, section: Listener, Rule or Port}", [type, at])] if {
	some name, by_type in levels.by_module
	some type, at in by_type
	not levels.is_level(at)
}

extension_problems contains [name, sprintf("levels of %s: the bridge knows that kind, its level stays %s", [type, known.object])] if {
	some name, by_type in levels.by_module
	some type, _ in by_type
	known := levels.shipped[type]
}

extension_problems contains [name, sprintf("levels of %s: the module %s gives them already", [type, first])] if {
	some name, by_type in levels.by_module
	some type, _ in by_type
	first := sort([other | some other, types in levels.by_module; types[type]])[0]
	first != name
}

extension_problems contains [name, "virtual must be a set of types, <group>/<Kind>"] if {
	types := data.bridge.extensions.hierarchy[name].virtual
	not is_set(types)
	not is_array(types)
}

extension_problems contains [name, sprintf("virtual: %v is not a type, write <group>/<Kind>", [type])] if {
	some type in data.bridge.extensions.hierarchy[name].virtual
	not levels.is_type(type)
}

# METADATA
# description: The same for the links that modules declare for one object.
extension_link_problems(obj) := {[name, "links must be a set of [parent, child]"] |
	some name in link_modules
	made := data.bridge.extensions.hierarchy[name].links with input as {"object": obj}
	not is_set(made)
	not is_array(made)
} | {[name, message] |
	some name in link_modules
	some link in data.bridge.extensions.hierarchy[name].links with input as {"object": obj}
	not is_link(link)
	message := sprintf("links of %s: %v is not [parent, child], two keys, the child without a section", [keys.of(obj), link])
}
