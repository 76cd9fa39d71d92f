"""The pages of the API: exactly the public names, each with its signature, its docstring and its example.

Everything is read from the source, and nothing is imported: griffe parses files and numpydoc docstrings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import griffe

FUNCTIONS, CLASSES, ERRORS, SPARK, TEXTBOOK = (
    PurePosixPath(f"api/{name}.md") for name in ("functions", "classes", "errors", "spark", "textbook")
)
_WIDTH = 88
_STARS: dict[griffe.ParameterKind | None, str] = {
    griffe.ParameterKind.var_positional: "*",
    griffe.ParameterKind.var_keyword: "**",
}
_DUNDERS = ("__len__", "__contains__", "__iter__")


def pages(root: Path) -> dict[PurePosixPath, str]:
    """Return the pages of the API by their names."""
    library = Library(root / "src")
    public = [name for name in library.exports("twinset") if not name.startswith("__")]
    errors = set(library.exports("twinset.errors"))
    functions = [name for name in public if name[0].islower()]
    classes = [name for name in public if name[0].isupper() and name not in errors]
    spark = sorted(library.exports("twinset.spark"), key=lambda name: (name[0].isupper(), name))
    return {
        FUNCTIONS: _page("Functions", _FUNCTIONS, _entries(library, "twinset", functions)),
        CLASSES: _page("Classes", _CLASSES, _entries(library, "twinset", classes)),
        ERRORS: _page("Errors and warnings", _tree(library), _entries(library, "twinset", sorted(errors), False)),
        SPARK: _page("Spark", _SPARK, _entries(library, "twinset.spark", spark)),
        TEXTBOOK: _page("The textbook", _TEXTBOOK, _chapters(library)),
    }


_FUNCTIONS = """\
Every function of `twinset`. The options, which they take as keyword arguments, are those of the command of the same
name: [commands](../docs/commands.md). [Use in Python](../docs/python.md) describes sources and what is returned."""
_CLASSES = """\
Every class of `twinset` that you make or open yourself. [Use in Python](../docs/python.md) describes the results that
functions return, and [the index](../docs/keep-an-index.md) has more examples."""
_SPARK = """\
The names of `twinset.spark`, for data frames of Apache Spark. [Several machines](../docs/spark.md) describes them."""
_TEXTBOOK = """\
The definitions, in plain Python: `from twinset.textbook import …`. They are written to be read, not to be fast;
[finding similar items, step by step](../docs/textbook.md) explains them in order."""


class Library:
    """The source of the package, read file by file as it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.module = cache(self._module)

    def _module(self, name: str) -> griffe.Module:
        path = self._folder.joinpath(*name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        code = path.read_text("utf-8")
        module = griffe.visit(name, filepath=path, code=code, docstring_parser=griffe.Parser.numpy)
        assert isinstance(module, griffe.Module)
        return module

    def exports(self, name: str) -> list[str]:
        """Return the public names of a module, as its `__all__` has them."""
        return [str(one) for one in self.module(name).exports or ()]

    def find(self, module: str, name: str) -> griffe.Object:
        """Return a name of a module, wherever it is defined."""
        place = self.module(module)
        if name in place.imports:
            return self.find(*place.imports[name].rsplit(".", 1))
        found = place.members[name]
        assert isinstance(found, griffe.Object)
        return found

    def members(self, one: griffe.Class) -> dict[str, griffe.Object]:
        """Return the public methods and properties of a class that say what they do, inherited ones last."""
        own = {
            name: member
            for name, member in one.members.items()
            if isinstance(member, griffe.Object)
            and member.docstring is not None
            and (not name.startswith("_") or name in _DUNDERS)
        }
        for base in one.bases:
            name = str(base).partition("[")[0]
            place = one.module.imports.get(name, f"twinset.{name}" if name in one.module.members else "")
            if place.startswith("twinset."):
                parent = self.find(one.module.path, name)
                assert isinstance(parent, griffe.Class)
                own |= {key: member for key, member in self.members(parent).items() if key not in own}
        return own


def _page(title: str, about: str, entries: Iterable[str]) -> str:
    return f"# {title}\n\n{about}\n\n" + "\n".join(entries)


def _entries(library: Library, module: str, names: list[str], members: bool = True) -> Iterator[str]:
    for name in names:
        found = library.find(module, name)
        if found.name != name:
            yield f"## `{name}`\n\nAnother name of [`{found.name}`](#{found.name}).\n"
        else:
            yield from _entry(found, name, f"{module}.{name}", "##")
            if not members and isinstance(found, griffe.Class):
                yield from (f"Base: [`{base}`](#{str(base).lower()})\n" for base in found.bases if str(base) in names)
            elif isinstance(found, griffe.Class):
                for key, member in library.members(found).items():
                    yield from _entry(member, f"{name}.{key}", f"{name}.{key}", "###")


def _entry(one: griffe.Object, title: str, path: str, level: str) -> Iterator[str]:
    """Yield the text on a name: its heading, its signature and its docstring."""
    yield f"{level} `{title}`\n"
    yield f"```python\n{_signature(one, path)}\n```\n"
    if "classmethod" in one.labels:
        yield f"A method of the class `{path.partition('.')[0]}`, not of an object.\n"
    if one.docstring is not None:
        yield from _sections(one.docstring.parse("numpy"))


def _signature(one: griffe.Object, path: str) -> str:
    """Return how a name is used."""
    if isinstance(one, griffe.Class):
        init = one.members.get("__init__")
        if isinstance(init, griffe.Function):
            return _call(f"class {path}", init, skip=1)
        return f"class {path}"
    if isinstance(one, griffe.Function) and "property" not in one.labels:
        return _call(path, one, skip=int(isinstance(one.parent, griffe.Class)))
    annotation = getattr(one, "annotation", None) or getattr(one, "returns", None)
    return f"{path}: {annotation}" if annotation else path


def _call(start: str, function: griffe.Function, skip: int) -> str:
    words = list(_parameters(list(function.parameters)[skip:]))
    returns = f" -> {function.returns}" if function.returns is not None and not start.startswith("class") else ""
    line = f"{start}({', '.join(words)}){returns}"
    if len(line) <= _WIDTH:
        return line
    return f"{start}(\n" + "".join(f"    {word},\n" for word in words) + f"){returns}"


def _parameters(parameters: list[griffe.Parameter]) -> Iterator[str]:
    starred = False
    for one in parameters:
        if one.kind is griffe.ParameterKind.keyword_only and not starred:
            starred = True
            yield "*"
        star = _STARS.get(one.kind, "")
        starred = starred or star == "*"
        annotation = f": {one.annotation}" if one.annotation is not None else ""
        default = f" = {one.default}" if one.default is not None and not star else ""
        yield f"{star}{one.name}{annotation}{default}"


def _sections(sections: list[griffe.DocstringSection]) -> Iterator[str]:
    """Yield the Markdown of the sections of a docstring."""
    for section in sections:
        kind = section.kind.value
        if kind == "text":
            yield f"{_markdown(section.value)}\n"
        elif kind == "examples":
            yield "**Example**\n"
            for part, text in section.value:
                yield f"```pycon\n{text}\n```\n" if part.value == "examples" else f"{_markdown(text)}\n"
        elif kind in ("parameters", "attributes"):
            yield f"**{kind.title()}**\n"
            yield "".join(f"- `{one.name}`: {_one_line(one.description)}\n" for one in section.value)
        elif kind in ("returns", "yields", "raises"):
            yield f"**{kind.title()}**\n"
            named = ((f"`{one.annotation}`: " if one.annotation else "", one.description) for one in section.value)
            yield "".join(f"- {name}{_one_line(description)}\n" for name, description in named)
        else:
            raise ValueError(f"a docstring has a section of the kind {kind}, which no page shows yet")


def _markdown(text: str) -> str:
    """Return prose of a docstring as Markdown: ``code`` has one backtick, and a block after :: is code."""
    return re.sub(r"``([^`\n]+)``", r"`\1`", re.sub(r"(?m)^::$\n?", "", text))


def _one_line(text: str) -> str:
    return _markdown(" ".join(text.split()))


def _tree(library: Library) -> str:
    docstring = library.module("twinset.errors").docstring
    assert docstring is not None
    tree = re.findall(r"(?m)^    .*$|^$", docstring.value)
    return "```text\n" + re.sub(r"\n{3,}", "\n\n", "\n".join(line[4:] for line in tree)).strip() + "\n```"


def _chapters(library: Library) -> Iterator[str]:
    """Yield the chapters of the textbook, in its order."""
    book = library.module("twinset.textbook")
    assert book.docstring is not None
    order = re.findall(r"(?m)^    (\w+)  +\S", book.docstring.value)
    for chapter in order:
        name = f"twinset.textbook.{chapter}"
        module = library.module(name)
        yield f"## {chapter.replace('_', ' ').capitalize()}\n"
        if module.docstring is not None:
            yield f"{_markdown(module.docstring.value)}\n"
        for public in library.exports(name):
            yield from _entry(library.find(name, public), public, f"twinset.textbook.{public}", "###")
