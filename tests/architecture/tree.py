"""The text files of the project, in the work tree or at a git revision, and the kind that each one counts as."""
import io
import json
import pathlib
import subprocess
import tarfile

SOURCES = ('.h', '.hpp', '.cc', '.cu', '.inl')
TEXTS = SOURCES + ('.py', '.sh', '.md', '.cmake', '.txt', '.js', '.css', '.html', '.json', '.ipynb', '.patch', '.in', '.yml')
# Recorded from other programs, or a licence: text that is not ours to word.
RECORDED = ('LICENSE', 'tests/goldens/recorded/', 'tests/fuzz/corpus/', 'tests/engine/data/images/')


def files(root, revision=None):
    """Name and text of every file of ours. Without a revision: of the work tree, also what is not committed yet."""
    git = ['git', '-C', str(root)]
    if revision:
        archive = subprocess.run(git + ['archive', '--format=tar', revision], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            members = [(one.name, tar.extractfile(one).read()) for one in tar.getmembers() if one.isfile()]
    else:
        names = subprocess.run(git + ['ls-files', '-co', '--exclude-standard'], capture_output=True, text=True, check=True).stdout.split('\n')
        paths = [(name, pathlib.Path(root) / name) for name in names]
        members = [(name, path.read_bytes()) for name, path in paths if name and path.is_file() and not path.is_symlink()]
    for name, content in sorted(members):
        ours = name.endswith(TEXTS) or '.' not in name.rsplit('/', 1)[-1] or name == '.ci/run'
        if ours and not name.startswith(RECORDED) and b'\0' not in content:
            text = content.decode(errors='replace')
            yield name, cells(text) if name.endswith('.ipynb') else text


def cells(notebook):
    """What a person wrote in a notebook; its outputs are the program's."""
    return '\n'.join(''.join(cell['source']) for cell in json.loads(notebook)['cells'])


def kind(name):
    """sources, tests, lessons, patches, scripts, docs or build: each file counts as one of them."""
    if name.endswith('.patch'):
        return 'patches'
    if name.endswith('.md') or name.startswith(('docs/', 'LICENSE')) or name.endswith('.ipynb'):
        return 'lessons' if name.startswith('lessons/') else 'docs'
    if name.startswith('lessons/'):
        return 'lessons'
    if name.startswith(('tests/', 'bench/')):
        return 'tests'
    if name.endswith('.sh') or name in ('lockstep', '.ci/run', 'Dockerfile') or name.startswith('scripts/'):
        return 'scripts'
    if name.startswith('cmake/') or name.endswith(('CMakeLists.txt', '.cmake', '.json', '.yml', '.txt')) or name.startswith('.'):
        return 'build'
    return 'sources'
