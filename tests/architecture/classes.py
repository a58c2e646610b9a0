#!/usr/bin/env python3
"""How large things may get: data members of a class in engine/, lines of the six phases, and what a phase is given.

Usage: classes.py [ROOT] [--list N]      --list N: also every class with at least N data members

A class has at most 15 data members, those of structs defined inside it counted too. Each phase of the step is a free function in a file of
its own, of at most 150 lines, and takes what it uses: never a type that holds most of what the phases share. Exit code 1 where one breaks this.
"""
import argparse
import pathlib
import re
import sys

MOST_MEMBERS = 15
STEP = 'engine/distribute/step'
PHASES = ('replicate', 'shard', 'local_gradients', 'all_reduce', 'update', 'barrier')
LINES = {**{f'{STEP}/{phase}.cc': 150 for phase in PHASES}, f'{STEP}/mirrored_step.cc': 200}
SHARED_MOST = 3  # a type with more of the phases' parameter types among its members is the whole state

CLASS = re.compile(r'\b(?<!enum )(class|struct|union)\s+(?:\[\[\w+\]\]\s*|alignas\([^)]*\)\s*)*((?:\w+::)*\w+)\s*(?:final\s*)?(:[^;{]*)?\{')
NOT_MEMBERS = re.compile(r'^(using|typedef|friend|static|template|enum|operator|constexpr static|inline static|explicit|virtual|extern)\b')


def plain(text):
    """Without comments, texts and preprocessor lines; as many characters and lines as before."""
    blank = lambda found: re.sub(r'[^\n]', ' ', found[0])
    text = re.sub(r'//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)
    text = re.sub(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', blank, text, flags=re.S)
    return re.sub(r'^[ \t]*#[^\n]*(?:\\\n[^\n]*)*', blank, text, flags=re.M)


def closing(text, at):
    """Where the bracket at `at` is closed."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in '{([') - (text[i] in '})]')
        if depth == 0:
            return i
    return len(text)


def without_angles(text):
    while (smaller := re.sub(r'<[^<>]*>', '', text)) != text:
        text = smaller
    return text


def declarators(statement):
    """Names that a member declaration declares; none for anything else."""
    statement = re.sub(r'\[\[[^\]]*\]\]|\balignas\s*\([^)]*\)', '', statement)
    statement = re.sub(r'^\s*(?:(?:public|private|protected)\s*:\s*)+', '', statement).strip()
    if not statement or NOT_MEMBERS.match(statement):
        return []
    bare = without_angles(statement.replace('->', '').replace('operator', ' ( '))
    names = []
    for part in re.split(r',', bare):
        head = re.split(r'=|\{', part)[0]
        if '(' in head and not re.search(r'\(\s*\*', head):
            return []
        name = re.search(r'(\w+)\s*(?:\[[^\]]*\]\s*)*(?::\s*\d+\s*)?$', head.strip())
        if name and re.search(r'\S\s+\S|[*&]', (bare if not names else 'x y')):
            names.append(name[1])
    return names


def members(body):
    """(names of data members, with those of nested structs; texts of the declarations of its own)"""
    names, own, start, at = [], [], 0, 0
    while at < len(body):
        if body[at] in '([':
            at = closing(body, at) + 1
        elif body[at] == '{':
            end = closing(body, at)
            head = body[start:at]
            nested = CLASS.search(head + '{')
            if nested:
                inner, _ = members(body[at + 1:end])
                names += [f'{nested[2]}::{name}' for name in inner]
                start = end + 1  # what follows up to the semicolon declares members of that type
                tail = body[start:body.find(';', start)]
                names += re.findall(r'\w+', without_angles(re.sub(r'\{[^}]*\}|=[^,]*', '', tail)))
                at = start = body.find(';', start) + 1
            elif re.match(r'\s*(?:(?:public|private|protected)\s*:\s*)*enum\b', head):
                at = start = body.find(';', end) + 1
            elif '(' in without_angles(re.split(r'=', head)[0]) or 'operator' in head:
                at = start = end + 1  # a function's body
                if at < len(body) and re.match(r'\s*;', body[at:]):
                    at = start = body.find(';', at) + 1
            else:
                at = end + 1  # an initializer
        elif body[at] == ';':
            statement = body[start:at]
            for i in range(20):
                smaller = re.sub(r'\{[^{}]*\}', '', statement)
                if smaller == statement:
                    break
                statement = smaller
            found = declarators(statement)
            names += found
            if found:
                own.append(statement)
            at = start = at + 1
        else:
            at += 1
    return names, own


def classes(text):
    """(name, line, data members, texts of its own members' declarations) of every class that is not nested in one of its text."""
    found, end = [], 0
    for match in CLASS.finditer(text):
        if match.start() < end or re.search(r'enum\s*$', text[:match.start()]) or re.search(r'template\s*<[^<>{};]*$', text[:match.start()]):
            continue
        close = closing(text, match.end() - 1)
        names, own = members(text[match.end():close])
        found.append((match[2], text.count('\n', 0, match.start()) + 1, names, own))
        end = close
    return found


def parameters(text, phase):
    """Of the free function of that name, where it is defined; None where it is a member or there is none."""
    for found in re.finditer(r'^[\w:<>*&, ]*?[ *&](\w+::)?' + phase + r'\s*\(', text, re.M):
        close = closing(text, found.end() - 1)
        if re.match(r'\s*(const\s*)?\{', text[close + 1:]):
            return None if found[1] else text[found.end():close]
    return None


def main():
    words = argparse.ArgumentParser()
    words.add_argument('root', nargs='?', default=pathlib.Path(__file__).resolve().parents[2], type=pathlib.Path)
    words.add_argument('--list', type=int, default=0)
    given = words.parse_args()
    breaks, every = [], []
    for path in sorted((given.root / 'engine').rglob('*')):
        if path.suffix in ('.h', '.cc', '.cu', '.inl'):
            name = path.relative_to(given.root).as_posix()
            every += [(name, *one) for one in classes(plain(path.read_text()))]
    for path, name, line, names, _ in every:
        if len(names) > MOST_MEMBERS:
            breaks.append(f'{path}:{line}: {name} has {len(names)} data members, at most {MOST_MEMBERS}: {", ".join(names)}')
        if given.list and len(names) >= given.list:
            print(f'{len(names):3} {name} ({path}:{line})')
    for name, most in LINES.items():
        path = given.root / name
        lines = len(path.read_text().split('\n')) - 1 if path.exists() else -1
        if not 0 <= lines <= most:
            breaks.append(f'{name}: {lines} lines, at most {most}' if lines >= 0 else f'{name}: is missing')

    # What phases are given, and which types hold most of it.
    known = {name.split('::')[-1] for path, name, *_ in every if path.startswith('engine/distribute/')}
    taken = {}
    for phase in PHASES:
        path = given.root / STEP / f'{phase}.cc'
        text = parameters(plain(path.read_text()), phase) if path.exists() else None
        if text is None:
            breaks.append(f'{STEP}/{phase}.cc: no free function {phase} is defined there')
        else:
            taken[phase] = {word for word in re.findall(r'\w+', text) if word in known}
    shared = set().union(*taken.values()) if taken else set()
    for path, name, line, _, own in every:
        short = name.split('::')[-1]
        held = {word for word in re.findall(r'\w+', ' '.join(own)) if word in shared and word != short}
        for phase, types in taken.items():
            if short in types and (len(held) > SHARED_MOST or short in ('State', 'MirroredStep')):
                breaks.append(f'{STEP}/{phase}.cc: {phase} takes the whole state: {name} ({path}:{line}) holds {", ".join(sorted(held))}')
    for text in breaks:
        print(text)
    largest = max((len(names), name) for _, name, _, names, _ in every)
    print(f'{len(every)} classes in engine/, the largest with {largest[0]} data members ({largest[1]}); {len(taken)} phases; {len(breaks)} breaks')
    sys.exit(bool(breaks))


main()
