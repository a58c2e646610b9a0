#!/usr/bin/env python3
"""Lines of the project at two revisions, by kind and by top-level folder, and the tests that are there before and after.

Usage: lines.py [ROOT] BEFORE [AFTER]          AFTER is a revision, or the work tree where it is left out
       lines.py --tests BEFORE.txt AFTER.txt   two files written by `ctest --test-dir build/sim -N`

C++ files of both revisions are laid out by clang-format with this tree's .clang-format first, so a changed width does not count as fewer lines
(--as-is leaves them alone). --without FOLDER leaves a folder out on both sides, such as one that only one revision has; it may be given several times.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import tree

KINDS = ('sources', 'tests', 'lessons', 'patches', 'scripts', 'build', 'docs')


def laid_out(style, name, text):
    done = subprocess.run(['clang-format', f'--style=file:{style}', f'--assume-filename={name}'], input=text, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else text


def lines(root, revision, style, without):
    """{(kind, folder): lines}. Notebooks count with their cells."""
    found = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = []
        for name, text in tree.files(root, revision):
            if name == 'LICENSE' or name.startswith(tuple(without)):
                continue
            work = pool.submit(laid_out, style, name, text) if style and name.endswith(tree.SOURCES) else None
            waiting.append((name, text, work))
        for name, text, work in waiting:
            found[tree.kind(name), name.split('/')[0] if '/' in name else '.'] += (work.result() if work else text).count('\n')
    return found


def total(found, kind=None, folder=None):
    return sum(n for (k, f), n in found.items() if kind in (None, k) and folder in (None, f))


def compare_lines(options):
    style = None if options.as_is else pathlib.Path(options.root).resolve() / '.clang-format'
    before, after = (lines(options.root, one, style, options.without) for one in (options.before, options.after))
    folders = sorted({folder for _, folder in [*before, *after]})
    print(f'{"":12}{"before":>9}{"now":>9}{"change":>9}')
    for title, rows in (('by kind', [(kind, {'kind': kind}) for kind in KINDS]), ('by folder', [(folder, {'folder': folder}) for folder in folders]), ('', [('all', {})])):
        if title:
            print(title)
        for name, which in rows:
            old, new = total(before, **which), total(after, **which)
            print(f'  {name:10}{old:9,}{new:9,}{new - old:+9,}')


def names(path):
    return collections.Counter(re.findall(r'^\s*Test\s+#\d+: (.*)$', pathlib.Path(path).read_text(), re.M))


def compare_tests(before, after):
    old, new = names(before), names(after)
    gone, added = old - new, new - old
    for sign, these in (('-', gone), ('+', added)):
        for name in sorted(these.elements()):
            print(sign, name)
    print(f'{sum(old.values())} tests before, {sum(new.values())} now; {sum(gone.values())} names are gone, {sum(added.values())} are new')
    return 1 if gone or not old or not new else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('revisions', nargs='+')
    parser.add_argument('--as-is', action='store_true')
    parser.add_argument('--without', action='append', default=[], metavar='FOLDER')
    parser.add_argument('--tests', action='store_true')
    options = parser.parse_args()
    if options.tests:
        return compare_tests(*options.revisions)
    words = options.revisions
    options.root = words.pop(0) if pathlib.Path(words[0]).is_dir() else '.'
    options.before, options.after = (words + [None])[:2]
    compare_lines(options)
    return 0


if __name__ == '__main__':
    sys.exit(main())
