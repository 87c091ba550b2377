"""How much a property test does: how many times the usual examples, and how many steps of a walk.

The profile `thorough` (`make test-laws`) has 50 times as many, and longer walks.
"""

from hypothesis import settings

TIMES = settings().max_examples // 100
STEPS = 12 if TIMES == 1 else 40
