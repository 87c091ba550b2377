"""How many times the usual examples a property test has: 1, or 50 with the profile `thorough` (`make test-laws`)."""

from hypothesis import settings

TIMES = settings().max_examples // 100
