"""What the queries `effective` and `explain` answer, as types (docs/reference/queries.md). Keys are texts."""

from __future__ import annotations

from typing import Any

import msgspec


class _Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Fields that a later version adds are ignored."""


class Problem(_Answer):
    """Why a path could not be computed."""

    code: str
    message: str


class AppliedPolicy(_Answer):
    """A policy on a path: where it is attached, and its outcome (Programmed, PartiallyProgrammed, Overridden)."""

    policy: str
    target: str
    strategy: str
    outcome: str
    overridden_by: tuple[str, ...] = ()


class Step(_Answer):
    """A step of merging: the policies of both sides, the side that decided, and the spec after it."""

    established: tuple[str, ...]
    challenger: tuple[str, ...]
    strategy: str
    winner: str = ""
    result: Any = None


class EffectivePath(_Answer):
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


class Effective(_Answer):
    """The effective policies of one kind at one effective target, a path each."""

    target: str
    policy_kind: str
    paths: tuple[EffectivePath, ...]


class RejectedAttachment(_Answer):
    """A policy that names or selects a node of a path and does not count there."""

    policy: str
    target: str
    reason: str
    message: str


class RejectedLink(_Answer):
    """A link above the target that an object declares and that does not count."""

    parent: str
    child: str
    reason: str
    message: str


class Explanation(Effective):
    """How effective policies came about: paths with their steps, and what does not count."""

    attachments: tuple[RejectedAttachment, ...] = ()
    links: tuple[RejectedLink, ...] = ()


class Update(Effective):
    """The effective policies of one kind at one target as they are now; no `paths`: there is none any more.

    `revision` numbers the write to OPA that the answer was computed after.
    """

    revision: str
