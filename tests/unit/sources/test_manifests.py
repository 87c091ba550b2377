import io
import math
import os
import sys
import threading
from pathlib import Path
from textwrap import dedent

import pytest

from bridge.files import STDIN
from bridge.model.changes import Change, Listed, Listing, Trouble, Upserted
from bridge.model.keys import Key, key_of
from bridge.sources.manifests import ManifestError, ManifestSource

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\n"


def config(name: str) -> str:
    return CONFIG.format(name=name)


def names_in(*paths: Path | str) -> list[str]:
    return [obj["metadata"]["name"] for obj in ManifestSource(paths, follow=False).load()]


def problems_in(*paths: Path) -> list[str]:
    source = ManifestSource(paths, follow=False)
    source.load()
    return [f"{trouble.subject}: {trouble.message}" for trouble in source.problems]


async def changes_of(source: ManifestSource) -> list[Change]:
    return [change async for change in source.changes()]


def test_folder_is_read_with_hidden_files_and_folders_as_by_kubectl(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".more").mkdir()
    for file, name in {
        "c.yml": "c",
        "a.yaml": "a",
        "b/x.json": "",
        ".hidden.yaml": "hidden",
        ".git/x.yaml": "git",
        ".more/x.yaml": "more",
        "notes.txt": "notes",
        "kustomization.yaml": "object",
    }.items():
        (tmp_path / file).write_text(config(name))
    (tmp_path / "b/x.json").write_text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}')
    assert names_in(tmp_path) == ["hidden", "more", "a", "b", "c", "object"]


def test_size_of_what_cannot_be_read_twice_is_unbounded(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a: 1\n")
    (tmp_path / "b.yaml").write_bytes(b"b: 22\n")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    assert ManifestSource([tmp_path], follow=False).size() == 11
    assert ManifestSource([tmp_path, STDIN], follow=False).size() == math.inf
    os.mkfifo(tmp_path / "pipe")
    assert ManifestSource([tmp_path / "pipe"], follow=False).size() == math.inf


def test_hidden_file_with_settings_of_another_tool_is_no_manifest(tmp_path: Path) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/checks.yaml").write_text("on: push\njobs: {}\n---\nkind: Service\n")
    (tmp_path / "a.yaml").write_text(config("a"))
    assert names_in(tmp_path) == ["a"]
    assert problems_in(tmp_path) == [f"{tmp_path}/.github/checks.yaml:4: document 2: apiVersion is missing"]


def test_file_that_a_link_beside_it_names_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(config("a"))
    (tmp_path / "0.yaml").symlink_to("a.yaml")
    source = ManifestSource([tmp_path], follow=False)
    (obj,) = source.load()
    assert not source.problems
    assert source.position(key_of(obj)) == (str(tmp_path / "a.yaml"), 1)


def test_text_after_the_end_of_a_document_is_an_error_because_kubectl_ignores_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{config('a')}...\n# a comment\n{config('b')}---\n{config('c')}...\n")
    assert names_in(tmp_path) == ["a", "c"]
    reason = "document 2: kubectl ignores the text after `...`: begin each document with ---"
    line = config("a").count("\n") + 3
    assert problems_in(tmp_path) == [f"{tmp_path}/a.yaml:{line}: {reason}"]


def test_helm_chart_is_reported_with_the_command_that_renders_it(tmp_path: Path) -> None:
    (tmp_path / "chart" / "templates").mkdir(parents=True)
    (tmp_path / "chart" / "Chart.yaml").write_text("name: shop\nversion: 1.0.0\n")
    (tmp_path / "chart" / "templates" / "route.yaml").write_text("{{- if .Values.route }}\n")
    (tmp_path / "a.yaml").write_text(config("a"))
    source = ManifestSource([tmp_path], follow=False)
    assert [obj["metadata"]["name"] for obj in source.load()] == ["a"]
    (problem,) = source.problems
    assert problem.subject == f"{tmp_path}/chart/Chart.yaml"
    assert f"helm template NAME {tmp_path}/chart | pbctl … --manifests -" in problem.message


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("resources: [a.yaml]\n", False),
        ("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- a.yaml\n", False),
        ("resources: [a.yaml]\nnamespace: shop\n", True),
        ("resources: [../base]\n", True),
        ("resources: [https://example.com/a.yaml]\n", True),
        ("resources: 1\npatches: []\n", True),
        ("resources: [git@github.com:example/repo]\n", True),
        ("resources: [github.com/example/repo//deploy?ref=v1]\n", True),
        ("resources: [notes.txt]\n", True),
        ("resources: [.a.yaml, sub]\n", False),
        ("resources: [linked]\n", True),
        ("resources: [sub/linked]\n", True),
        ("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: []\n", True),
    ],
)
def test_kustomization_that_changes_objects_is_reported(tmp_path: Path, text: str, *, reported: bool) -> None:
    root = tmp_path / "deploy"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (root / "linked").symlink_to("../elsewhere")
    (root / "sub/linked").symlink_to("../../elsewhere")
    for file in ("a.yaml", "notes.txt", ".a.yaml", "sub/b.yaml", "../elsewhere/c.yaml"):
        (root / file).write_text(config(Path(file).stem))
    (root / "kustomization.yaml").write_text(text)
    source = ManifestSource([root], follow=False)
    assert [obj["metadata"]["name"] for obj in source.load()] == [".a", "a", "b"]
    assert [f"kubectl kustomize {root} |" in problem.message for problem in source.problems] == [True] * reported


def test_file_that_a_kustomization_does_not_list_is_a_warning(tmp_path: Path) -> None:
    root = tmp_path / "deploy"
    (root / "own").mkdir(parents=True)
    (root / "sub").mkdir()
    for file in ("a.yaml", "b.yaml", "own/c.yaml", "sub/d.yaml"):
        (root / file).write_text(config(Path(file).stem))
    (root / "kustomization.yaml").write_text("resources: [a.yaml, own]\n")
    (root / "own" / "kustomization.yaml").write_text("resources: [c.yaml]\n")
    source = ManifestSource([root], follow=False)
    source.load()
    source.doubts()
    left_out = "kubectl apply -k leaves out what it does not list: b.yaml, sub/d.yaml"
    assert source.unchecked == [f"{root}/kustomization.yaml: {left_out}"]
    for text in ("resources: [a.yaml, own, b.yaml, sub/d.yaml]\n", "resources: [a.yaml]\npatches: [{path: b.yaml}]\n"):
        (root / "kustomization.yaml").write_text(text)
        again = ManifestSource([root], follow=False)
        again.load()
        again.doubts()
        assert again.unchecked == []


def test_what_a_kustomization_below_may_read_by_other_fields_is_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for file in ("a.yaml", "sub/b.yaml", "sub/patch.yaml"):
        (tmp_path / file).write_text(config(Path(file).stem))
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml, sub]\n")
    (tmp_path / "sub" / "kustomization.yaml").write_text("resources: [b.yaml]\npatches: [{path: patch.yaml}]\n")
    source = ManifestSource([tmp_path], follow=False)
    source.load()
    source.doubts()
    assert source.unchecked == []


@pytest.mark.parametrize(
    ("spec", "reported"),
    [
        ("{path: ./teams/web, targetNamespace: web}", "targetNamespace of Flux is not applied to {root}/web: use"),
        (
            "{path: teams/web, patches: [{}], namePrefix: x}",
            "namePrefix, patches of Flux is not applied to {root}/web: use",
        ),
        ("{path: ./teams, targetNamespace: web}", "targetNamespace of Flux is not applied to {root}: use"),
        ("{path: ./teams/web}", None),
        ("{path: ./elsewhere, targetNamespace: web}", None),
        ("{path: ../teams/web, targetNamespace: web}", None),
        (f"{{path: ./{'x' * 5000}, targetNamespace: web}}", None),
        ('{path: "\\0", targetNamespace: web}', None),
        ("[]", None),
    ],
)
def test_kustomization_of_flux_that_changes_a_folder_that_is_read_is_reported(
    tmp_path: Path, spec: str, reported: str | None
) -> None:
    root = tmp_path / "teams"
    (root / "web").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web, namespace: flux}\n"
    (root / "web.yaml").write_text(f"{flux}spec: {spec}\n")
    (root / "web/a.yaml").write_text(config("a"))
    source = ManifestSource([root], follow=False)
    assert [obj["metadata"]["name"] for obj in source.load()] == ["a", "web"]
    assert len(source.problems) == (reported is not None)
    for problem in source.problems:
        assert reported is not None
        assert problem.message.startswith(f"document 1: {reported.format(root=root)}")
        assert "flux build kustomization web --dry-run --kustomization-file" in problem.message


def test_a_named_file_is_read_whatever_its_suffix_and_only_once(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_text(config("a"))
    (tmp_path / "y.yaml").write_text(config("b"))
    assert names_in(file, tmp_path, tmp_path / "y.yaml", file) == ["a", "b"]


@pytest.mark.parametrize("follow", [False, True])
def test_file_in_a_folder_that_never_ends_is_a_problem_of_that_file(tmp_path: Path, *, follow: bool) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    (tmp_path / "endless.yaml").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.yaml")
    with (tmp_path / "sparse.yaml").open("wb") as sparse:
        sparse.truncate(1 << 40)
    source = ManifestSource([tmp_path], follow=follow)
    assert not source.mentions({b"absent"})
    assert [obj["metadata"]["name"] for obj in source.load()] == ["a"]
    assert [f"{trouble.subject}: {trouble.message}" for trouble in source.problems] == [
        f"{tmp_path}/endless.yaml:1: cannot read it: not a regular file",
        f"{tmp_path}/pipe.yaml:1: cannot read it: not a regular file",
        f"{tmp_path}/sparse.yaml:1: cannot read it: larger than 256 MiB",
    ]


def test_link_in_a_folder_to_a_file_outside_shows_nothing_of_that_file(tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text("token: unseen-secret\napiVersion: [unseen-secret]\nkind: x\n")
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "link.yaml").symlink_to("../outside.yaml")
    (root / "sub" / "first.yaml").symlink_to("second.yaml")
    (root / "sub" / "second.yaml").symlink_to(tmp_path / "outside.yaml")
    (root / "sub" / "inside.yaml").symlink_to("../real.yml")
    (root / "real.yml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: real, namespace: a}\n")
    source = ManifestSource([str(root)], follow=False)
    assert [obj["metadata"]["name"] for obj in source.load()] == ["real"]
    messages = [one.message for one in source.problems]
    assert messages == [f"cannot read it: it is a link to a file outside of {root}: name that file as well"]
    assert "unseen-secret" not in str(source.problems)
    named = ManifestSource([str(root), str(tmp_path / "outside.yaml")], follow=False)
    named.load()
    assert len(named.problems) == 2


def test_pipe_that_a_user_names_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    content = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    writer = threading.Thread(target=pipe.write_text, args=(content,))
    writer.start()
    assert names_in(pipe) == ["a"]
    writer.join()


def test_lists_are_taken_apart(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        dedent("""\
        apiVersion: v1
        kind: List
        items:
        - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
        - apiVersion: v1
          kind: ServiceList
          items:
          - metadata: {name: b}
        - kind: ConfigMap
        """)
    )
    source = ManifestSource([tmp_path], follow=False)
    assert [(obj["apiVersion"], obj["kind"], obj["metadata"]["name"]) for obj in source.load()] == [
        ("v1", "ConfigMap", "a"),
        ("v1", "Service", "b"),
    ]
    assert source.position(Key("core", "ConfigMap", "default", "a")) == (str(tmp_path / "a.yaml"), 4)
    assert problems_in(tmp_path) == [f"{tmp_path}/a.yaml:9: document 1: apiVersion is missing"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: b: c", "1: document 1: invalid YAML: mapping values are not allowed in this context"),
        ("- a", "1: document 1: no object but a list: a manifest is a mapping"),
        ("hello", "1: document 1: no object but a plain value: a manifest is a mapping"),
        ("\n\nkind: A\nmetadata: {name: a}", "3: document 1: apiVersion is missing"),
        ("apiVersion: v1\nmetadata: {name: a}", "1: document 1: kind is missing"),
        ("apiVersion: v1\nkind: A", "1: document 1: metadata.name is missing"),
        ("apiVersion: v1\nkind: A\nmetadata: []", "3: document 1: metadata is not a mapping"),
        (
            "apiVersion: v1\nkind: A\nmetadata: {name: a, labels: [b]}",
            "3: document 1: metadata.labels is not a mapping",
        ),
        ("apiVersion: 1\nkind: A\nmetadata: {name: a}", "1: document 1: apiVersion is not a string (1): quote it"),
        ("apiVersion: v1\nkind: A\nmetadata: {name: 7}", "3: document 1: metadata.name is not a string (7): quote it"),
        (
            "apiVersion: v1\nkind: A\nmetadata: {name: a/b}",
            "3: document 1: metadata.name 'a/b' is not a valid Kubernetes name",
        ),
        (
            "apiVersion: v1\nkind: A\nmetadata: {generateName: a-}",
            "3: document 1: metadata.name is missing: manifests cannot have generated names",
        ),
        (
            "apiVersion: [secret]\nkind: A\nmetadata: {name: a}",
            "1: document 1: apiVersion is not a string but a list",
        ),
        (
            "kind: A\napiVersion: v1\nmetadata:\n  name: a\n  annotations:\n    fine: b\n    a/b: true\n    c: 80",
            "7: document 1: metadata.annotations['a/b'] is not a string (True): quote it",
        ),
        (
            "kind: A\napiVersion: v1\nmetadata:\n  name: a\n  labels: {tier: {a: b}}",
            "5: document 1: metadata.labels['tier'] is not a string but a mapping",
        ),
        ('{"apiVersion": "v1",\n "kind" "A"}', "2: document 1: invalid JSON: Expecting ':' delimiter"),
        (
            '{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, "x": "\\ud800"}',
            "1: document 1: a string in it is not valid Unicode",
        ),
    ],
)
def test_a_broken_document_is_reported_with_file_line_and_number(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert problems_in(tmp_path) == [f"{tmp_path}/a.yaml:{reason}"]


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_label_or_annotation_without_a_value_is_an_empty_text(tmp_path: Path, field: str) -> None:
    (tmp_path / "a.yaml").write_text(f"apiVersion: v1\nkind: A\nmetadata: {{name: a, {field}: {{b: , c: d}}}}")
    source = ManifestSource([tmp_path], follow=False)
    assert [obj["metadata"][field] for obj in source.load()] == [{"b": "", "c": "d"}]
    assert not source.problems


def test_a_file_that_is_no_utf_8_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a: b\nc: \xff\n")
    assert problems_in(tmp_path) == [f"{tmp_path}/a.yaml:2: document 1: not UTF-8 text"]


def test_the_first_of_two_equal_objects_counts_and_the_second_is_reported_with_both_places(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{config('a')}data: {{x: first}}\n")
    (tmp_path / "b.yaml").write_text(f"---\n{config('a')}data: {{x: second}}\n")
    (obj,) = ManifestSource([tmp_path], follow=False).load()
    assert obj["data"] == {"x": "first"}
    (problem,) = problems_in(tmp_path)
    assert problem == (
        f"{tmp_path}/b.yaml:2: document 1: core/ConfigMap/shop/a is already defined at {tmp_path}/a.yaml:1: "
        "the bridge ignores this one"
    )


def test_a_missing_namespace_is_the_default_one_and_so_an_object_can_be_there_twice(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    (tmp_path / "a.yaml").write_text(f"{text}---\n{text.replace('name: a', 'name: a, namespace: default')}")
    assert [str(key_of(obj)) for obj in ManifestSource([tmp_path], follow=False).load()] == ["core/ConfigMap/default/a"]
    assert len(problems_in(tmp_path)) == 1


async def test_the_stream_tells_each_kind_in_full_crds_and_policy_kinds_first(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        dedent("""\
        {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}
        ---
        {apiVersion: policybridge.io/v1alpha1, kind: PolicyKind, metadata: {name: p}}
        ---
        {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}}
        ---
        {apiVersion: apps/v1, kind: Deployment, metadata: {name: e}}
        """)
    )
    changes = await changes_of(ManifestSource([tmp_path], follow=False))
    kinds = ["apiextensions.k8s.io/CustomResourceDefinition", "policybridge.io/PolicyKind", "apps/Deployment"]
    assert [change.type_id for change in changes if isinstance(change, Listing)] == kinds
    assert [type(change) for change in changes] == [Listing, Upserted, Listed] * 3
    assert [
        obj["metadata"]["name"] for change in changes if isinstance(change, Upserted) for obj in change.objects
    ] == ["c", "p", "d", "e"]


async def test_a_wanted_kind_that_is_missing_is_reported_as_an_empty_listing(tmp_path: Path) -> None:
    source = ManifestSource([tmp_path], follow=False)
    source.want({"core/Service"})
    assert await changes_of(source) == [Listing("core/Service"), Listed("core/Service")]


async def test_the_stream_begins_with_the_troubles(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"kind: A\n---\n{config('a')}")
    first, *others = await changes_of(ManifestSource([tmp_path], follow=False))
    assert first == Trouble(f"{tmp_path}/a.yaml:1", "document 1: apiVersion is missing", retried=False)
    assert [type(change) for change in others] == [Listing, Upserted, Listed]


async def test_the_stream_of_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="nowhere"):
        await changes_of(ManifestSource([tmp_path / "nowhere" / "x"], follow=True))


def test_a_text_is_found_in_any_file_and_in_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text("kind: Gateway\n")
    (tmp_path / "b.yaml").write_text("kind: RegoPolicy\n")
    (tmp_path / "c.txt").write_text("kind: Secret\n")
    source = ManifestSource([tmp_path], follow=False)
    assert source.mentions([b"Secret", b"RegoPolicy"])
    assert not source.mentions([b"Secret"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"kind: Secret\n")))
    assert ManifestSource([STDIN], follow=False).mentions([b"Secret"])
    assert sys.stdin.read() == "kind: Secret\n"


async def test_data_of_a_secret_does_not_leave_the_source(tmp_path: Path) -> None:
    secret = "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}, data: {key: eA==}}"
    (tmp_path / "secret.yaml").write_text(secret, encoding="utf-8")
    source = ManifestSource([tmp_path], follow=False)
    source.want({"core/Secret"})
    (objects,) = [change.objects for change in await changes_of(source) if isinstance(change, Upserted)]
    assert "data" not in objects[0]
