"""Print the ways through the code: `python -m hack.ways`, in a clone.

The program is `tests.ways`, because it needs a control plane, which is part of the tests; `hack` imports none of them.
"""

import runpy

if __name__ == "__main__":
    runpy.run_module("tests.ways", run_name="__main__")
