"""The results of the queries `effective` and `explain`, as types (docs/reference/queries.md). Keys are strings.

Fields of later versions are ignored.
"""

from typing import Any

import msgspec


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a path cannot be computed."""

    code: str
    message: str


class AppliedPolicy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A policy on a path: where it is attached, and its outcome (Programmed, PartiallyProgrammed, Overridden)."""

    policy: str
    target: str
    strategy: str
    outcome: str
    overridden_by: tuple[str, ...] = ()


class Step(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A step of merging: the policies of both sides, the side that decided, and the spec after it."""

    established: tuple[str, ...]
    challenger: tuple[str, ...]
    strategy: str
    winner: str = ""
    result: Any = None


class EffectivePath(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The effective policy on one path from the root to a target.

    `spec` is None if `error` has the reason. `origins` maps each leaf of `spec`, by JSON Pointer, to its policy, or to
    several. Only explanations have `steps`. In a mesh `source_namespace` names the namespace whose requests the path is
    for, "" for all.
    """

    path: tuple[str, ...]
    policies: tuple[AppliedPolicy, ...]
    spec: Any = None
    origins: dict[str, str | tuple[str, ...]] = {}
    error: Problem | None = None
    steps: tuple[Step, ...] = ()
    source_namespace: str = ""


class Effective(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The effective policies of one kind at one effective target, one for each path."""

    target: str
    policy_kind: str
    paths: tuple[EffectivePath, ...]


class RejectedAttachment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A policy that names or selects a node of a path and has no effect there."""

    policy: str
    target: str
    reason: str
    message: str


class RejectedLink(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A link above the target that an object declares and that has no effect."""

    parent: str
    child: str
    reason: str
    message: str


class Explanation(Effective, frozen=True, kw_only=True, rename="camel"):
    """The explanation of effective policies: paths with their steps, and everything that has no effect."""

    attachments: tuple[RejectedAttachment, ...] = ()
    links: tuple[RejectedLink, ...] = ()


class Update(Effective, frozen=True, kw_only=True, rename="camel"):
    """The current effective policies of one kind at one target; no `paths`: there are none anymore.

    `revision` numbers the write to OPA before the computation.
    """

    revision: str
