import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bridge.model.changes import Change, Deleted, Listed, Listing, Resolved, Trouble, Upserted
from bridge.model.keys import Key
from bridge.sources.manifests import ManifestSource


def config(name: str, value: str = "") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\ndata: {{x: '{value}'}}\n"


def key(name: str) -> Key:
    return Key("core", "ConfigMap", "shop", name)


class Follower:
    """Reads a followed stream, change by change."""

    def __init__(self, source: ManifestSource) -> None:
        self.stream = source.changes()

    async def next(self) -> Change:
        """The next change, which comes within a minute."""
        async with asyncio.timeout(60):
            return await anext(self.stream)

    async def next_upserted(self) -> list[tuple[str, str]]:
        """Names and values of the objects in the next change."""
        change = await self.next()
        assert isinstance(change, Upserted)
        return [(obj["metadata"]["name"], obj["data"]["x"]) for obj in change.objects]

    async def is_quiet(self) -> bool:
        """Whether nothing comes for a while. The stream cannot be read any more then."""
        pending = asyncio.ensure_future(anext(self.stream))
        done, _ = await asyncio.wait({pending}, timeout=0.4)
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
        return not done


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "a.yaml").write_text(f"{config('a')}---\n{config('b')}")
    return folder


@asynccontextmanager
async def following(source: ManifestSource, kinds: int = 1) -> AsyncIterator[Follower]:
    """A follower that has read the first listing of each kind."""
    follower = Follower(source)
    assert [type(await follower.next()) for _ in range(3 * kinds)] == [Listing, Upserted, Listed] * kinds
    yield follower
    await follower.stream.aclose()  # type: ignore[attr-defined]


@pytest.fixture
async def follower(folder: Path) -> AsyncIterator[Follower]:
    async with following(ManifestSource([folder], follow=True)) as follower:
        yield follower


async def test_only_changed_objects_of_a_file_are_reported(folder: Path, follower: Follower) -> None:
    (folder / "a.yaml").write_text(f"{config('a')}---\n{config('b', 'new')}---\n{config('c')}")
    assert await follower.next_upserted() == [("b", "new"), ("c", "")]


async def test_an_object_that_left_its_file_is_deleted(folder: Path, follower: Follower) -> None:
    (folder / "a.yaml").write_text(config("b"))
    assert await follower.next() == Deleted("core/ConfigMap", key("a"))


async def test_new_and_removed_files_are_reported(folder: Path, follower: Follower) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "c.yaml").write_text(config("c"))
    assert await follower.next_upserted() == [("c", "")]
    (folder / "sub" / "c.yaml").unlink()
    assert await follower.next() == Deleted("core/ConfigMap", key("c"))


async def test_a_kind_that_comes_later_is_reported_in_full(folder: Path, follower: Follower) -> None:
    (folder / "n.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n")
    changes = [await follower.next() for _ in range(3)]
    assert [type(change) for change in changes] == [Listing, Upserted, Listed]
    assert changes[0] == Listing("core/Namespace")


async def test_an_object_that_moved_to_another_file_is_no_change(folder: Path, follower: Follower) -> None:
    (folder / "a.yaml").rename(folder / "b.yaml")
    assert await follower.is_quiet()


async def test_broken_file_is_reported_and_its_last_valid_objects_stay_until_fixed(
    folder: Path, follower: Follower
) -> None:
    (folder / "a.yaml").write_text(f"{config('a', 'new')}---\nkind: [\n")
    trouble = await follower.next()
    assert isinstance(trouble, Trouble)
    assert trouble.retried
    assert trouble.message.startswith("document 2: invalid YAML")
    assert await follower.next_upserted() == [("a", "new")]

    (folder / "a.yaml").write_text(config("a", "new"))
    assert await follower.next() == Resolved(trouble.subject)
    assert await follower.next() == Deleted("core/ConfigMap", key("b"))


async def test_a_folder_that_vanishes_is_reported_and_keeps_its_objects_and_is_read_again_when_it_is_back(
    folder: Path, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.move(folder, folder.with_name("away"))
    trouble = await follower.next()
    assert isinstance(trouble, Trouble)
    assert trouble.subject == str(folder)
    shutil.move(folder.with_name("away"), folder)
    (folder / "a.yaml").write_text(f"{config('a')}---\n{config('b', 'new')}")
    assert await follower.next() == Resolved(str(folder))
    assert await follower.next_upserted() == [("b", "new")]


async def test_a_file_that_an_editor_replaces_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(config("a"))
    async with following(ManifestSource([file], follow=True)) as follower:
        (tmp_path / ".one.yaml.swp").write_text(config("a", "new"))
        (tmp_path / ".one.yaml.swp").rename(file)
        assert await follower.next_upserted() == [("a", "new")]


async def test_a_mounted_config_map_is_followed_through_its_links(tmp_path: Path) -> None:
    for name, value in {"..1": "old", "..2": "new"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.yaml").write_text(config("a", value))
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    async with following(ManifestSource([tmp_path], follow=True)) as follower:
        (tmp_path / "..data_tmp").symlink_to("..2")
        (tmp_path / "..data_tmp").rename(tmp_path / "..data")
        assert await follower.next_upserted() == [("a", "new")]


async def test_a_kind_that_is_wanted_later_and_is_missing_is_reported_as_empty(folder: Path) -> None:
    source = ManifestSource([folder], follow=True)
    async with following(source) as follower:
        waiting = asyncio.ensure_future(follower.next())
        await asyncio.sleep(0.05)
        source.want({"core/Service", "core/ConfigMap"})
        assert await waiting == Listing("core/Service")
        assert await follower.next() == Listed("core/Service")


async def test_a_crd_that_gains_a_default_gives_it_to_the_objects_that_are_there(tmp_path: Path) -> None:
    crd = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing}
  scope: Cluster
  versions:
  - {name: v1, served: true, schema: {openAPIV3Schema: {properties: {color: {default: DEFAULT}}}}}
"""
    (tmp_path / "crd.yaml").write_text(crd.replace("DEFAULT", "red"))
    (tmp_path / "thing.yaml").write_text("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\n")
    async with following(ManifestSource([tmp_path], follow=True), kinds=2) as follower:
        (tmp_path / "crd.yaml").write_text(crd.replace("DEFAULT", "blue"))
        changes = [await follower.next(), await follower.next()]
        assert [change.type_id for change in changes if isinstance(change, Upserted)] == [
            "apiextensions.k8s.io/CustomResourceDefinition",
            "example.com/Thing",
        ]
        assert isinstance(changes[1], Upserted)
        assert changes[1].objects[0]["color"] == "blue"


def test_doubts_are_those_of_one_reading_while_the_files_change(tmp_path: Path) -> None:
    """The page asks for them in one thread while another one reads what changed."""
    file = tmp_path / "routes.yaml"
    names = ["cart", "checkout", "search"]

    def write(prefix: str = "") -> None:
        route = (
            "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: {}}}\nspec: {{rules: 7}}\n"
        )
        file.write_text("---\n".join(route.format(prefix + name) for name in names))

    write()
    source = ManifestSource([tmp_path], follow=True)
    source.load()

    class Replacing(frozenset[str]):
        def __contains__(self, _: object) -> bool:
            write("late-")
            source.load()
            return True

    assert [key.name for key, _, _ in source.doubts(keys=Replacing())] == names
    assert [key.name for key, _, _ in source.doubts()] == [f"late-{name}" for name in names]
