"""A client for programs: effective policies, their explanation, and their changes.

async with Client("http://127.0.0.1:8181") as client:
        for effective in await client.effective("core/Service/shop/catalog"):
            print(effective.policy_kind, [path.spec for path in effective.paths])

All errors are `OpaError`; `QueryError`, one of them, has the `code` and `message` of a rejected query
(docs/reference/queries.md, docs/reference/http.md).
"""

from bridge.client.answers import (
    AppliedPolicy,
    Effective,
    EffectivePath,
    Explanation,
    Problem,
    RejectedAttachment,
    RejectedLink,
    Step,
    Update,
)
from bridge.client.program_client import Client
from bridge.opa.errors import OpaError, OpaUnavailable, QueryError

__all__ = [
    "AppliedPolicy",
    "Client",
    "Effective",
    "EffectivePath",
    "Explanation",
    "OpaError",
    "OpaUnavailable",
    "Problem",
    "QueryError",
    "RejectedAttachment",
    "RejectedLink",
    "Step",
    "Update",
]
