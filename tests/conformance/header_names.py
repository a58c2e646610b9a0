"""Every name that one of our CUDA-like headers declares, read from what the compiler sees of it.

The reader knows the few forms these headers are written in and stops at anything else, so that no name can be overlooked: each
declaration is either taken or an error.
"""
import re
import subprocess
from collections import namedtuple

# kind: macro, function_macro, enumerator, type (complete), opaque, field, function, template
Name = namedtuple("Name", "kind name detail")

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\.?\d[\w.]*|\.\.\.|::|->|&&|\|\||<<|>>|[^\s\w]')


class Unknown(Exception):
    """A declaration in a form that the reader does not know."""


def preprocess(compiler, header, include_dirs, options):
    command = [compiler, "-E", "-dD", "-x", "c++", "-std=c++20", *options, *[f"-I{d}" for d in include_dirs], "-"]
    return subprocess.run(command, input=f"#include <{header}>\n", text=True, check=True, capture_output=True).stdout


def own_lines(text, wanted):
    """The lines of the preprocessed text that come from files for which wanted(path) holds."""
    inside = False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            inside = wanted(marker.group(1))
        elif inside:
            yield line


def macro_name(line):
    """What a #define says, or None for an include guard."""
    name, parameters, body = re.match(r"#define (\w+)(\([^)]*\))?\s*(.*)", line).groups()
    if parameters is not None:
        return Name("function_macro", name, len([p for p in parameters[1:-1].split(",") if p.strip()]))
    return Name("macro", name, body) if body else None


class Reader:
    def __init__(self, tokens):
        self.tokens = tokens
        self.at = 0
        self.names = []
        self.open_externs = 0

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, expected=None):
        token = self.peek()
        if expected is not None and token != expected:
            raise Unknown(f"expected {expected!r} in: {self.context()}")
        self.at += 1
        return token

    def context(self):
        return " ".join(self.tokens[max(0, self.at - 12):self.at + 12])

    def add(self, kind, name, detail=""):
        self.names.append(Name(kind, name, detail))

    def group(self, opening, closing):
        """The tokens between a bracket and its partner, both taken."""
        self.take(opening)
        depth, start = 1, self.at
        while depth:
            token = self.take()
            if not token:
                raise Unknown(f"no {closing} for {opening}")
            depth += (token == opening) - (token == closing)
        return self.tokens[start:self.at - 1]

    def read(self):
        while self.at < len(self.tokens):
            token = self.peek()
            if token == "extern" and self.peek(1) == '"C"':
                self.at += 2
                if self.peek() == "{":
                    self.take()
                    self.open_externs += 1
            elif token == "}" and self.open_externs:
                self.take()
                self.open_externs -= 1
            elif token == ";":
                self.take()
            elif token == "namespace":  # the simulator's own
                while self.peek() != "{":
                    self.take()
                self.group("{", "}")
            elif token == "template":
                self.template()
            elif token == "typedef":
                self.take()
                self.typedef()
            elif token in ("enum", "struct", "union") and (self.peek(1) == "{" or self.peek(2) in ("{", ";")):
                self.tagged(typedef=False)
                self.take(";")
            else:
                self.function("function")
        return self.names

    def template(self):
        self.take("template")
        depth = 0
        while True:
            token = self.take()
            depth += (token == "<") - (token == ">")
            if token == ">" and depth == 0:
                break
        self.function("template")

    def function(self, kind):
        """A prototype or a definition: return type, name, parameters."""
        start = self.at
        while self.peek() not in ("(", ";", "{", "}", "=", ""):
            self.take()
        name = self.tokens[self.at - 1] if self.at > start + 1 else ""
        if self.peek() != "(" or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise Unknown(self.context())
        result = " ".join(t for t in self.tokens[start:self.at - 1] if t not in ("static", "inline", "constexpr"))
        parameters = self.group("(", ")")
        if self.peek() == "{":
            self.group("{", "}")
        else:
            self.take(";")
        self.add(kind, name, f"{result} (*)({' '.join(strip_defaults(parameters))})")

    def tagged(self, typedef):
        """enum, struct or union with its body (or without: opaque)."""
        which = self.take()
        tag = self.take() if self.peek() != "{" else ""
        if self.peek() != "{":
            if not typedef:
                self.add("opaque", tag)
            return
        body = self.group("{", "}")
        name = tag or self.peek()
        self.add("type", name)
        if which == "enum":
            self.enumerators(body)
        else:
            self.fields(name, body)

    def enumerators(self, body):
        for entry in split(body, ","):
            if entry:
                self.add("enumerator", entry[0])

    def fields(self, struct, body):
        reader = Reader(body)
        while reader.at < len(body):
            start = reader.at
            if reader.peek() == "union" and reader.peek(2) == "{":  # a field of a type that is declared with it
                inner = f"{struct}::{reader.peek(1)}"
                reader.at += 2
                self.add("type", inner)
                self.fields(inner, reader.group("{", "}"))
                self.add("field", f"{struct}::{reader.take()}")
                reader.take(";")
                continue
            while reader.peek() not in (";", "(", "{", ""):
                reader.take()
            if reader.peek() != ";":  # a constructor or operator
                raise_unless_method(struct, body[start:reader.at])
                reader.group("(", ")")
                while reader.peek() not in ("{", ";"):
                    reader.take()
                    if reader.peek() == "(":
                        reader.group("(", ")")
                if reader.take() == "{":
                    reader.at -= 1
                    reader.group("{", "}")
                continue
            for declarator in split(body[start:reader.at], ","):
                bare = [t for t in declarator if re.fullmatch(r"[A-Za-z_]\w*", t)]
                self.add("field", f"{struct}::{bare[-1]}")
            reader.take(";")

    def typedef(self):
        if self.peek() in ("enum", "struct", "union") and (self.peek(1) == "{" or self.peek(2) == "{"):
            self.tagged(typedef=True)
        start = self.at
        while self.peek() != ";":
            self.take()
        declarator = self.tokens[start:self.at]
        pointer_to_function = [i for i, t in enumerate(declarator) if t == "(" and declarator[i + 1] == "*"]
        name = declarator[pointer_to_function[0] + 2] if pointer_to_function else declarator[-1]
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise Unknown(" ".join(declarator))
        complete = {n.name for n in self.names if n.kind == "type"}
        if declarator[0] == "struct" and "*" not in declarator and declarator[1] not in complete:
            self.add("opaque", name)
        elif name not in complete:
            self.add("type", name)


def raise_unless_method(struct, tokens):
    words = [t for t in tokens if t not in ("constexpr", "inline", "static")]
    if words[:1] not in ([struct], ["operator"]):
        raise Unknown(f"{struct}: {' '.join(tokens)}")


def split(tokens, separator):
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in "([{") - (token in ")]}")
        if token == separator and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def strip_defaults(parameters):
    kept = []
    for parameter in split(parameters, ","):
        kept += ([","] if kept else []) + (parameter[:parameter.index("=")] if "=" in parameter else parameter)
    return kept


def names_of(compiler, header, include_dirs, wanted, options=()):
    """All names that the files wanted(path) declare when the header is included, in order."""
    names, code = [], []
    for line in own_lines(preprocess(compiler, header, include_dirs, options), wanted):
        if line.startswith("#define"):
            found = macro_name(line)
            names += [found] if found else []
        elif not line.startswith("#"):
            code.append(line)
    names += Reader(TOKEN.findall("\n".join(code))).read()
    seen = set()  # an opaque struct may be declared again
    return [n for n in names if not (n[:2] + ((n.detail,) if n.kind in ("function", "template") else ()) in seen or
                                     seen.add(n[:2] + ((n.detail,) if n.kind in ("function", "template") else ())))]
