package bridge.index

import data.bridge.lookup

# METADATA
# description: |
#   The routes that declare a parent (a Gateway, ListenerSet or frontend) for a hostname (`*`: any) and a path (see
#   `served_entries`), whether they count or not.
routes_serving(parent, name, path) := {route |
	data.index.served[parent][_][name][path][route]
	not route in lookup.changed_keys
} | object.get(changed_entries, ["served", parent, concat("\n", [name, path])], set())

# METADATA
# description: All hostnames for which routes declare a parent.
served_names(parent) := union({object.keys(data.index.served[parent][home]) | some home, _ in data.index.served[parent]}) | {name |
	some joined, _ in changed_entries.served[parent]
	name := split(joined, "\n")[0]
}

# METADATA
# description: |
#   Some hostnames for which routes declare a parent and that end with a text, up to a maximum. One text with all
#   hostnames is searched, because a loop over ten thousand takes ten times as long.
some_served_names(parent, ending, most) := regex.find_n(concat("", ["(?m)^.*", _literal(ending), "$"]), _names_text(parent), most)

_names_text(parent) := concat("\n", served_names(parent))

# METADATA
# description: Some paths for which routes declare a parent and a hostname and that begin with a text, up to a maximum.
some_served_paths(parent, name, beginning, most) := regex.find_n(
	concat("", ["(?m)^", _literal(beginning), ".*$"]),
	_paths_text(parent, name),
	most,
)

_paths_text(parent, name) := concat("\n", array.concat(
	[concat("\n", object.keys(by_path)) | by_path := data.index.served[parent][_][name]],
	[path |
		some joined, _ in changed_entries.served[parent]
		[named, path] := split(joined, "\n")
		named == name
	],
))

# A text as a regular expression that matches only that text.
_literal(text) := concat("", [`\Q`, replace(text, `\E`, `\E\\E\Q`), `\E`])
