# METADATA
# title: Bounded recursion
# description: |
#   Rego has no recursion and no loop that carries a value, so that every evaluation ends. Where the rules need one, they write
#   its steps out, up to a bound that they report when it is hit. There are three forms, and no others:
#
#   *Closure*: `hierarchy.frontiers` follows links step by step from a set of nodes, or of paths. One function has the steps,
#   `hierarchy.next_step` has a clause for each direction.
#
#   *Fold over a list*: `_NAME_512` takes eight parts of 64 items, `_NAME_64` eight parts of eight, `_NAME_8` eight items, each
#   with the value of the one before; `_NAME_at` leaves the value as it is after the end of the list.
#
#   *Recursive function*: `_NAME_16` calls `_NAME_15`, and so on. OPA evaluates each call once a query, so that a chain shares
#   what its upper parts have in common, which a closure from below does not.
package bridge.lib.recursion

# METADATA
# description: How many steps a closure or a recursive function takes at most, and so how many nodes a path may have.
step_bound := 16

# METADATA
# description: How many items a fold takes at most.
item_bound := 512
