# METADATA
# scope: package
# title: Modules as text or parsed
# description: |
#   `rego.parse_module` reads Rego v1 only: modules in Rego v0 arrive parsed, as `opa parse --format json` prints them.
package checks.parse

# METADATA
# description: The syntax tree of a module at a path, which is its text or that tree; undefined if it cannot be parsed.
module(path, given) := rego.parse_module(path, given) if is_string(given)

module(_, given) := given if is_object(given)
