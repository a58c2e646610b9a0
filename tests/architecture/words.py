#!/usr/bin/env python3
"""Words that make an outside engineer stop: archaisms, riddles, persons in place of threads and callers, names of our own for what NCCL or CUDA names.

Usage: words.py [ROOT] [--at REV] [--by-folder] [--show WORD] [--before REV] [--check]

Counts them in the sources (code and comments), in program output (string literals of the sources), in docs (pages, lessons, notebooks) and in tests.
--show WORD prints each place ("all": of every word), --before REV prints a table of both revisions, --check fails above a limit.
"""
import argparse
import collections
import re
import sys

import tree

# word or pattern, the most there may be, what to write instead. A limit only ever goes down. Patterns are looked for in lines whose identifiers are
# taken apart: MessageClique and message_clique both read "message clique". [raw] looks in the line as it is.
WORDS = [
    ('nobody', 0, 'no thread, no caller, none; or turn the sentence round'),
    ('somebody', 0, 'a thread, a caller, a replica'),
    ('anybody', 0, 'a thread, a caller, a replica'),
    ('everybody', 0, 'all ranks, all replicas, every thread'),
    ('whoever', 0, 'the thread that, the caller that'),
    ('the news', 0, 'report the failed GPU; other errors are consequences'),
    ('by hand', 0, 'in a custom loop; written out; manually'),
    ('to mend', 0, 'Fix:'),
    ('mend(s|ed|ing)?', 0, 'fix, repair'),
    ('foret(ell|ells|old)', 0, 'predict'),
    ('verdicts?', 0, 'status, result'),
    ('cliques?', 0, 'communicator, group of ranks'),
    ('lobby', 0, 'bootstrap'),
    ('guests?', 0, 'peer, connection'),
    ('diary', 0, 'log'),
    ('elsewhere', 0, 'name the place'),
    ('neither', 0, 'a name: name the value, or leave it out', r'\bneither\b(?=\s*[\],;=)])'),
    ('way of their own', 0, 'a separate path'),
    ('is no copy of', 0, 'differs from'),
    ('until_the_end', 0, 'ScopedWatch', r'\buntil_the_end\b'),
    ('take_the_sum', 0, 'wait_for_sum', r'\btake_the_sum\b'),
    ('to be had', 0, 'available'),
    ('anew', 0, 'again'),
    ('in silence', 0, 'without an error'),
    ('in vain', 0, 'without effect'),
    ('as ever', 0, 'as before'),
    ('alike', 0, 'equal; the same way'),
    ('meanwhile', 0, 'at the same time'),
    ('behind (our|the \\w+.s) backs?', 0, 'without being asked'),
    ('says nothing', 0, 'prints nothing; is not defined'),
    ('knows nothing of', 0, 'does not depend on'),
    ('speaks? of', 0, 'names, describes'),
    ('(is|are|was|were|be|been) heard', 0, 'received, read'),
    ('(is|are|was|were|be|been) told', 0, 'passed, notified, reported'),
    ('lets? go', 0, 'released'),
    ('come to rest|at rest', 0, 'idle'),
    ('once and for all', 0, 'once'),
    ('(dies|die|died) of', 0, 'ends with'),
]

# (files, words, why they may stay)
ALLOWED = [
    (r'tests/architecture/words\.py', '.*', 'this list'),
    (r'.*reuters.*', 'the news', 'the data set is of news'),
]
KINDS = ('sources', 'output', 'docs', 'tests')
# In every line that holds one of the words; saves most of the time.
SOME = re.compile('body|whoever|news|hand|mend|foret|verdict|clique|lobby|guest|diary|where|neither|way|copy|end|sum|had|anew|silence|vain|ever|alike|while|behind|says'
                  '|knows|speak|heard|told|go|rest|all|die', re.I)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def compiled():
    for word, limit, instead, *raw in WORDS:
        yield word, limit, instead, re.compile(raw[0] if raw else rf'\b{word}\b', re.I), bool(raw)


def apart(line):
    """Identifiers as words."""
    return re.sub(r'(?<=[a-z0-9])(?=[A-Z])', ' ', line).replace('_', ' ')


def strings(line):
    """The text inside string literals of a line that is not all comment."""
    code = re.split(r'(?<!:)//|^\s*#(?!include)', line)[0] if not line.lstrip().startswith(('//', '*', '#')) else ''
    return ' '.join(STRING.findall(code))


def count(root, revision=None, show=None):
    """{(word, kind, folder): number}"""
    found = collections.Counter()
    words = list(compiled())
    for name, text in tree.files(root, revision):
        group = tree.kind(name)
        where = 'docs' if group == 'docs' or (group == 'lessons' and name.endswith('.md')) else 'tests' if group in ('tests', 'patches') else 'sources'
        folder = name.split('/')[0] if '/' in name else '.'
        for number, line in enumerate(text.split('\n'), 1):
            plain = apart(line)
            for word, _, _, pattern, raw in words if SOME.search(line) else []:
                hits = len(pattern.findall(line if raw else plain))
                if not hits or any(re.fullmatch(files, name) and re.fullmatch(which, word) for files, which, _ in ALLOWED):
                    continue
                said = min(hits, len(pattern.findall(strings(line) if raw else apart(strings(line))))) if where == 'sources' else 0
                found[word, 'output', folder] += said
                found[word, where, folder] += hits - said
                if show in (word, 'all'):
                    print(f'{name}:{number}: {word}: {line.strip()[:160]}')
    return found


def total(found, **where):
    return sum(n for (word, kind, folder), n in found.items()
               if where.get('word', word) == word and where.get('kind', kind) == kind and where.get('folder', folder) == folder)


def table(head, rows):
    widths = [max(len(str(row[i])) for row in [head] + rows) for i in range(len(head))]
    for row in [head] + rows:
        print('  '.join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('root', nargs='?', default='.')
    parser.add_argument('--at', metavar='REV')
    parser.add_argument('--before', metavar='REV')
    parser.add_argument('--by-folder', action='store_true')
    parser.add_argument('--show', metavar='WORD')
    parser.add_argument('--check', action='store_true')
    options = parser.parse_args()
    now = count(options.root, options.at, options.show)
    if options.show:
        return 0
    before = count(options.root, options.before) if options.before else None
    if options.by_folder:
        folders = sorted({folder for _, _, folder in now})
        rows = [[word] + [total(now, word=word, folder=folder) or '' for folder in folders] + [total(now, word=word)] for word, *_ in WORDS]
        table(['word'] + folders + ['all'], [row for row in rows if row[-1]] + [['all'] + [total(now, folder=folder) for folder in folders] + [total(now)]])
    elif before is not None:
        pair = lambda **where: f'{total(before, **where)} > {total(now, **where)}'
        table(['word, before > now'] + list(KINDS) + ['all'],
              [[word] + [pair(word=word, kind=kind) for kind in KINDS] + [pair(word=word)] for word, *_ in WORDS] +
              [['all'] + [pair(kind=kind) for kind in KINDS] + [pair()]])
    else:
        table(['word'] + list(KINDS) + ['all'], [[word] + [total(now, word=word, kind=kind) for kind in KINDS] + [total(now, word=word)]
                                                 for word, *_ in WORDS if total(now, word=word)] + [['all'] + [total(now, kind=kind) for kind in KINDS] + [total(now)]])
    above = [(word, total(now, word=word), limit, instead) for word, limit, instead, *_ in WORDS if total(now, word=word) > limit]
    for word, number, limit, instead in above if options.check else []:
        print(f'"{word}" stands {number} times, at most {limit} are allowed; write: {instead} (places: words.py --show "{word}")')
    return 1 if options.check and above else 0


if __name__ == '__main__':
    sys.exit(main())
