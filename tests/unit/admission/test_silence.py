import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bridge.admission.queries import Silence
from bridge.model.changes import Notice
from bridge.model.keys import parse_key
from bridge.opa.client import Answer
from bridge.opa.errors import OpaUnavailable
from tests.eventually import eventually
from tests.working import working

KIND = "policybridge.io/Constraint"
CHANGED = Notice((parse_key(f"{KIND}/-/limits"),))


class Held:
    """What OPA would answer, and whether that counts."""

    def __init__(self) -> None:
        self.types: list[str] = [KIND]
        self.any = False
        self.distrust = ""
        self.away = False
        self.read_once = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def read(self) -> Answer:
        """What OPA says, as it was when it was requested."""
        self.read_once.set()
        answer = Answer({"any": self.any, "types": list(self.types), "depends_on": [KIND]}, "r1", "")
        await self.may_answer.wait()
        if self.away:
            raise OpaUnavailable("away")
        return answer


@asynccontextmanager
async def reading(held: Held) -> AsyncIterator[Silence]:
    silence = Silence(held.read, lambda _: held.distrust)
    async with working(silence.run):
        yield silence


async def known(silence: Silence, type_id: str, revision: str) -> None:
    await eventually(lambda: silence.revision(type_id) == revision)


async def test_nothing_is_silent_before_it_is_known() -> None:
    assert Silence(Held().read, lambda _: "").revision("core/Pod") == ""


async def test_what_is_not_spoken_of_is_silent_by_the_revision_that_said_so() -> None:
    async with reading(Held()) as silence:
        await known(silence, "core/Pod", "r1")
        assert silence.revision(KIND) == ""


async def test_a_change_of_what_it_depends_on_counts_from_the_notice_on() -> None:
    held = Held()
    async with reading(held) as silence:
        await known(silence, "core/Pod", "r1")
        silence.note(Notice((parse_key("core/Pod/shop/a"),)))
        assert silence.revision("core/Pod") == "r1"
        held.types.append("core/Pod")
        silence.note(CHANGED)
        assert silence.revision("core/Secret") == ""  # in doubt until it is read
        await known(silence, "core/Secret", "r1")
        assert silence.revision("core/Pod") == ""


async def test_an_answer_from_before_a_change_does_not_count() -> None:
    held = Held()
    held.may_answer.clear()
    async with reading(held) as silence:
        await held.read_once.wait()
        held.types.append("core/Pod")
        silence.note(CHANGED)
        held.may_answer.set()
        await known(silence, "core/Secret", "r1")
        assert silence.revision("core/Pod") == ""


async def test_what_would_not_count_as_a_decision_is_not_relied_on() -> None:
    held = Held()
    async with reading(held) as silence:
        await known(silence, "core/Pod", "r1")
        held.distrust = "the initial sync of OPA is incomplete"
        assert silence.revision("core/Pod") == ""
        await asyncio.sleep(0.05)
        held.distrust = ""
        assert silence.revision("core/Pod") == ""  # only what is read after the doubt counts
        await known(silence, "core/Pod", "r1")


async def test_an_initial_sync_makes_all_objects_unknown() -> None:
    held = Held()
    async with reading(held) as silence:
        for notice in (Notice(refilling=True), Notice(refilled=True)):
            await known(silence, "core/Pod", "r1")
            silence.note(notice)
            assert silence.revision("core/Pod") == ""


async def test_where_any_object_may_be_spoken_of_nothing_is_silent() -> None:
    held = Held()
    held.any = True
    async with reading(held) as silence:
        await held.read_once.wait()
        await asyncio.sleep(0.01)
        assert silence.revision("core/Pod") == ""


async def test_an_opa_that_is_unavailable_is_read_again() -> None:
    held = Held()
    held.away = True
    async with reading(held) as silence:
        await held.read_once.wait()
        held.away = False
        await known(silence, "core/Pod", "r1")
