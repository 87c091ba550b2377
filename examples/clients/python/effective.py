"""Print the effective policies of a target: python effective.py OPA_URL KEY."""

import asyncio
import json
import sys

from bridge.client import Client, QueryError


async def main(opa: str, target: str) -> int:
    """Ask once; 1 if the query is refused."""
    async with Client(opa) as client:
        try:
            found = await client.effective(target)
        except QueryError as error:
            print(f"{error.code}: {error.message}", file=sys.stderr)
            return 1
    for effective in found:
        for path in effective.paths:
            print(effective.policy_kind, json.dumps(path.spec, separators=(",", ":")))
            for pointer, policy in path.origins.items():
                print(f"  {pointer} comes from {json.dumps(policy)}")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2])))
