"""What the queries `effective` and `explain` answer, as types (docs/reference/queries.md). Keys are texts.

Fields that a later version adds are ignored.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a path could not be computed."""

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

    `spec` is None where `error` says why there is none. `origins` has for each leaf of `spec`, by JSON Pointer, the
    policy that it comes from, or several. Only explanations have `steps`. In a mesh `source_namespace` names the
    namespace whose requests the path is for, "" for all.
    """

    path: tuple[str, ...]
    policies: tuple[AppliedPolicy, ...]
    spec: Any = None
    origins: dict[str, str | tuple[str, ...]] = {}
    error: Problem | None = None
    steps: tuple[Step, ...] = ()
    source_namespace: str = ""


class Effective(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The effective policies of one kind at one effective target, a path each."""

    target: str
    policy_kind: str
    paths: tuple[EffectivePath, ...]


class RejectedAttachment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A policy that names or selects a node of a path and does not count there."""

    policy: str
    target: str
    reason: str
    message: str


class RejectedLink(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A link above the target that an object declares and that does not count."""

    parent: str
    child: str
    reason: str
    message: str


class Explanation(Effective, frozen=True, kw_only=True, rename="camel"):
    """How effective policies came about: paths with their steps, and what does not count."""

    attachments: tuple[RejectedAttachment, ...] = ()
    links: tuple[RejectedLink, ...] = ()


class Update(Effective, frozen=True, kw_only=True, rename="camel"):
    """The effective policies of one kind at one target as they are now; no `paths`: there is none any more.

    `revision` numbers the write to OPA that the answer was computed after.
    """

    revision: str
