"""Mutation sampling: `python -m hack.mutants --count 100 --seed 1 --jobs 2`.

A sample of small faults in `rego/bridge` and in the pure modules of `bridge`, half of each. Each is tried by the quick
tests of what it is in: for Rego the package's own tests, all Rego tests, and the scenarios in Rego; for Python the unit
tests of the package and those of none. A mutant that passes them all survives: a test is missing, or it means the same.
Prints survivors with file, line and change, and the share that was killed.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from hack.mutants.python import is_pure, python_mutants
from hack.mutants.rego_faults import rego_mutants
from hack.mutants.trial import ROOT, Copy, Mutant, Verdict, copy_of_repository, unit_tests
from hack.tools import ensure

_SPARE = 1.5  # drawn for each that is wanted: some do not compile


def main() -> None:
    """Print survivors and the number of killed mutants."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws others (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="tried at once (default: %(default)s)")
    parser.add_argument("--only", choices=["rego", "python"], help="one language")
    parser.add_argument("--file", help="only files whose path contains this, also those that wait or send")
    options = parser.parse_args()
    languages = [options.only] if options.only else ["rego", "python"]
    killed, survivors = 0, []
    for language in languages:
        wanted = options.count // len(languages)
        verdicts = try_out(drawn(language, wanted, options.seed, options.file or ""), wanted, options.jobs)
        killed += sum(verdict == "killed" for _, verdict in verdicts)
        survivors += [mutant for mutant, verdict in verdicts if verdict == "survived"]
    for mutant in survivors:
        print(f"survived: {mutant.described((ROOT / mutant.path).read_text())}")
    print(f"mutants: {killed} of {killed + len(survivors)} killed, seed {options.seed}")


def drawn(language: str, wanted: int, seed: int, part: str = "") -> list[Mutant]:
    """Return a sample of a language's mutants, in the order of their trials, with at most one for each line."""
    by_line: dict[tuple[Path, int], list[Mutant]] = {}
    for mutant in _all_mutants(language, part):
        by_line.setdefault((mutant.path, mutant.line), []).append(mutant)
    chance = random.Random(seed)
    places = chance.sample(sorted(by_line), min(len(by_line), int(wanted * _SPARE) + 1))
    return [chance.choice(by_line[place]) for place in places]


def try_out(mutants: list[Mutant], wanted: int, jobs: int) -> list[tuple[Mutant, Verdict]]:
    """Return the verdicts on the first `wanted` mutants that compile."""
    found: list[tuple[Mutant, Verdict]] = []
    with ExitStack() as stack:
        opa = ensure("opa").path
        copies: SimpleQueue[Copy] = SimpleQueue()
        for _ in range(jobs):
            copies.put(stack.enter_context(copy_of_repository(opa)))

        def verdict(mutant: Mutant) -> Verdict:
            if len(found) >= wanted:
                return "invalid"
            copy = copies.get()
            try:
                return copy.verdict(mutant)
            finally:
                copies.put(copy)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        for mutant, result in zip(mutants, pool.map(verdict, mutants), strict=True):
            if result != "invalid" and len(found) < wanted:
                found.append((mutant, result))
                print(f"{len(found):4} {result:8} {mutant.path}:{mutant.line}", file=sys.stderr)
    return found


def _all_mutants(language: str, part: str) -> Iterator[Mutant]:
    root = ROOT / ("rego/bridge" if language == "rego" else "bridge")
    for path in sorted(root.rglob("*.rego" if language == "rego" else "*.py")):
        short, source = path.relative_to(ROOT), path.read_text()
        if part not in str(short):
            continue
        if language == "rego":
            if not path.stem.endswith("_test") and "testing" not in path.parts:
                yield from rego_mutants(short, source)
        elif len(short.parts) > 2 and (ROOT / unit_tests(short)).is_dir() and (part or is_pure(source)):
            yield from python_mutants(short, source)


if __name__ == "__main__":
    main()
