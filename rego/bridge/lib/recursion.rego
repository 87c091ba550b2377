# METADATA
# title: Bounded recursion
# description: |
#   Rego has no recursion and no loop that carries a value, so every evaluation ends. Rules that need one have their
#   steps written out, up to a bound that they report when it is exceeded. There are two forms, and no others:
#
#   *Closure*: `hierarchy.frontiers` follows links step by step from a set of nodes, or of paths. One function has the
#   steps, `hierarchy.next_step` has a clause for each direction.
#
#   *Fold over a list*: `_NAME_512` takes the first 256 items by `_NAME_256`, then the others with the value of these, and
#   so on by halves to `_NAME_1`, which takes one item, or keeps the value of none. OPA computes each half without items
#   once.
package bridge.lib.recursion

# METADATA
# description: The maximum number of steps of a closure, and therefore of nodes of a path.
step_bound := 16

# METADATA
# description: The maximum number of items of a fold.
item_bound := 512
