# METADATA
# title: Bounded recursion
# description: |
#   Rego has no recursion and no loop that carries a value, so every evaluation ends. Rules that need one have their
#   steps written out, up to a bound that they report when it is exceeded. There are two forms, and no others:
#
#   *Closure*: `hierarchy.frontiers` follows links step by step from a set of nodes, or of paths. One function has the
#   steps, `hierarchy.next_step` has a clause for each direction.
#
#   *Fold over a list*: `_NAME_512` takes eight parts of 64 items, `_NAME_64` eight parts of eight, `_NAME_8` eight
#   items, each with the value of the previous one; `_NAME_at` keeps the value after the end of the list.
package bridge.lib.recursion

# METADATA
# description: The maximum number of steps of a closure, and therefore of nodes of a path.
step_bound := 16

# METADATA
# description: The maximum number of items of a fold.
item_bound := 512
