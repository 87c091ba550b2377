"""Output formats: tables for people; exact values as JSON and YAML, names and templates for programs."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bridge.cli.table import Block, filled, print_tables
from bridge.model.text import plain
from bridge.queries.names import CommandError

# Characters that control a terminal or reverse text are escaped.
_UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_NAMED_BY = ("policy", "target", "object", "policyKind", "name")  # the field that names an entry, the first that it has


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a command, for every format.

    `tables` makes tables, with titles between them. If none has rows, `nothing` is printed on standard error, as in
    kubectl. `document` is the data for JSON, YAML and templates. `names` makes the names for `-o name`, by default
    those of the document's entries. `annotations` makes the lines for `-o github`. `code` is the exit code. `whole`:
    the tables belong together, so `--watch` shows all of them again when one differs. `namespaced`: the option for a
    namespace chooses the entries. `hint` is the command that a reader of the tables may type next. Without `headers`
    tables have only their rows. `keep` writes the files that the command makes: it is called once, when nothing
    refuses the answer any more.
    """

    tables: Callable[[], Iterable[Block]]
    nothing: str
    document: Any
    names: Callable[[], Iterable[str]] | None = None
    annotations: Callable[[], Iterable[str]] | None = None
    code: int = 0
    whole: bool = False
    namespaced: bool = True
    hint: str = ""
    headers: bool = True
    keep: Callable[[], None] = lambda: None


def print_answer(output: str, answer: Answer) -> None:
    """Print a result on standard output in the format `output`."""
    form, _, template = output.partition("=")
    if form in {"json", "yaml"}:
        print_document(form, answer.document)
    elif form == "jsonpath":
        from bridge.cli.templates import Template

        text = Template(template).render(answer.document)
        print("\n".join(map(plain, text.split("\n"))) if sys.stdout.isatty() else text)
    elif form == "github":
        if answer.annotations is None:
            raise CommandError("-o github prints all problems of one source, without --violations")
        for line in answer.annotations():
            print(line)
    elif form == "name":
        for name in dict.fromkeys(names_of(answer)):
            print(plain(name) if sys.stdout.isatty() else name)
    elif form == "custom-columns":
        from bridge.cli.templates import custom_columns

        print_tables([custom_columns(template, answer.document)])
    elif blocks := filled(answer.tables()):
        print_tables([*blocks, answer.hint] if answer.hint and sys.stdout.isatty() else blocks, headers=answer.headers)
    else:
        print_error(answer.nothing)


def names_of(answer: Answer) -> Iterable[str]:
    """Return the names for `-o name`."""
    if answer.names:
        return answer.names()
    document = answer.document
    entries: Sequence[Mapping[str, Any]] = document if isinstance(document, list) else [document]
    return [next(str(entry[field]) for field in _NAMED_BY if field in entry) for entry in entries]


def print_error(text: str) -> None:
    """Print a line on standard error; names and messages in it come from objects that any user may have written."""
    print(plain(text), file=sys.stderr)


def print_document(output: str, value: Any) -> None:
    """Print a JSON value as `json` or `yaml`."""
    sys.stdout.write(to_json(value) if output == "json" else to_yaml(value))


def print_objects(output: str, objects: Sequence[Any]) -> None:
    """Print Kubernetes objects: as YAML one document each, as JSON one List."""
    if output == "yaml":
        sys.stdout.write("---\n".join(to_yaml(one) for one in objects))
    else:
        print_document(output, {"apiVersion": "v1", "kind": "List", "items": list(objects)})


def to_json(value: Any) -> str:
    """Return indented JSON with a final newline."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], text) + "\n"


def to_yaml(value: Any) -> str:
    """Return YAML in block style, with the given order of keys, long texts on one line, and no aliases.

    A text of several lines is a block of lines.
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the library's signature
            return True

        def represent_text(self, data: str) -> yaml.Node:
            return self.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)

    Dumper.add_representer(str, Dumper.represent_text)

    def dumped(*, allow_unicode: bool) -> str:
        text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=allow_unicode, width=1 << 20)
        return text

    text = dumped(allow_unicode=True)
    return dumped(allow_unicode=False) if _UNSEEN.search(text) else text
