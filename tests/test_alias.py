"""The name ``torch`` for pytorchlike, and the runner; each case in a process of its own, from a folder that holds no package."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from packaging.version import Version

from pytorchlike.torch_version import TorchVersion

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}


def python(*arguments, cwd, **options):
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, **options)


def runs(code, cwd):
    found = python("-c", code, cwd=cwd)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_modules_are_the_same_objects(tmp_path):
    runs(
        "import sys, pytorchlike.alias as a\n"
        "import pytorchlike.version\n"
        "spec = pytorchlike.version.__spec__\n"
        "torch = a.install_as_torch()\n"
        "a.install_as_torch()\n"
        "import torch.core.dtype, torch.version as v, torch.utils.data as d\n"
        "import torch.core.size as size\n"
        "assert sys.modules['torch'] is sys.modules['pytorchlike'] is torch\n"
        "assert sys.modules['torch.core.size'] is sys.modules['pytorchlike.core.size'] is size\n"
        "assert v is pytorchlike.version and v.__spec__ is spec and spec.name == 'pytorchlike.version'\n"
        "assert d is sys.modules['pytorchlike.utils.data']\n"
        "assert sum(type(f).__name__ == '_TorchFinder' for f in sys.meta_path) == 1\n",
        tmp_path,
    )


def test_what_is_not_there_is_named(tmp_path):
    runs(
        "import importlib.util, pytorchlike.alias as a\n"
        "a.install_as_torch()\n"
        "assert importlib.util.find_spec('torch.nope') is None\n"
        "for name in ('torch.nope', 'torch.core.nope', 'torch.core.size.nope'):\n"
        "    try: __import__(name)\n"
        "    except ModuleNotFoundError as e: assert e.name == name and name in str(e), e\n"
        "    else: raise SystemExit('no error')\n"
        "try: import torch.nope\n"
        "except ImportError as e: assert str(e) == \"No module named 'torch.nope': pytorchlike does not provide torch.nope\"\n"
        "import types, pytorchlike.core as core\n"
        "core.__getattr__ = a.attribute_fallback('pytorchlike.core', submodules=['dims'])\n"
        "assert core.dims.wrap_dim(-1, 2) == 1\n"
        "assert not hasattr(core, 'nope')\n"
        "try: core.nope\n"
        "except AttributeError as e: assert str(e) == \"module 'torch.core' has no attribute 'nope' (torch.core.nope is not in pytorchlike yet)\"\n",
        tmp_path,
    )


def test_real_torch_in_the_process_is_refused(tmp_path):
    runs(
        "import sys, types; sys.modules['torch'] = types.ModuleType('torch')\n"
        "from pytorchlike.alias import install_as_torch\n"
        "try: install_as_torch()\n"
        "except RuntimeError as e: assert 'already imported' in str(e)\n"
        "else: raise SystemExit('no error')\n",
        tmp_path,
    )


def test_metadata_names_the_version(tmp_path):
    runs(
        "from pytorchlike.alias import install_as_torch; install_as_torch()\n"
        "import importlib.metadata as m, importlib.util\n"
        "import torch.version\n"
        "assert m.version('torch') == torch.version.__version__, m.version('torch')\n"
        "assert m.version('numpy')\n"
        "assert importlib.util.find_spec('torch') is not None\n",
        tmp_path,
    )


VERSIONS = [
    "2.13.0",
    "2.13.0+cpu",
    "2.13",
    "2.12.1",
    "2.14.0a0+git123",
    "2.14.0.dev20250101",
    "2.14.0rc1",
    "2.13.0.post1",
    "3",
    "2.2",
    (2, 13),
    (2, 1, 0),
]


@pytest.mark.parametrize("mine", ["2.13.0+pytorchlike", "2.14.0.dev20250101+cpu"])
def test_version_compares_as_packaging_does(mine):
    ours = TorchVersion(mine)
    for other in VERSIONS:
        theirs = Version(other if isinstance(other, str) else ".".join(map(str, other)))
        for operator in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
            assert getattr(ours, operator)(other) == getattr(Version(mine), operator)(theirs), (mine, operator, other)
        assert (ours > theirs) == (Version(mine) > theirs)
    assert isinstance(ours, str) and ours.split("+")[0] in ("2.13.0", "2.14.0.dev20250101")
    assert ours < "abc" and ours != 2.13
    with pytest.raises(TypeError, match="'>' not supported between instances of 'TorchVersion' and 'float'"):
        ours > 1.5  # noqa: B015


SCRIPT = """
import sys, os, pickle
import torch.version
class Thing: pass
print(__name__, os.path.basename(__file__), sys.argv[1:], os.path.basename(sys.path[0]), __spec__, __package__)
print(torch.version.__version__, os.path.isabs(__file__), sys.argv[0])
assert sys.modules["__main__"].Thing is Thing and isinstance(pickle.loads(pickle.dumps(Thing())), Thing)
"""


def test_script_sees_what_python_shows(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "script.py").write_text(SCRIPT)
    found = python("-m", "pytorchlike", "sub/script.py", "-m", "--epochs", "2", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == [
        "__main__ script.py ['-m', '--epochs', '2'] sub None None",
        "2.13.0+pytorchlike True sub/script.py",
    ]


def test_module_code_folder_and_standard_input(tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "__main__.py").write_text(
        "import sys, torch; print(__name__, __spec__.name, __package__, sys.argv[1:], torch.__name__)"
    )
    found = python("-m", "pytorchlike", "-m", "pack", "x", cwd=tmp_path)
    assert found.stdout == "__main__ pack.__main__ pack ['x'] torch\n", found.stderr
    found = python("-m", "pytorchlike", "-c", "import sys, torch; print(sys.argv, __name__)", "y", cwd=tmp_path)
    assert found.stdout == "['-c', 'y'] __main__\n", found.stderr
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("import sys, torch; print(sys.argv)")
    found = python("-m", "pytorchlike", "app", "z", cwd=tmp_path)
    assert found.stdout == "['app', 'z']\n", found.stderr
    found = python("-m", "pytorchlike", "-", cwd=tmp_path, input="import sys, torch; print(sys.argv)")
    assert found.stdout == "['-']\n", found.stderr


def test_exit_codes_and_messages(tmp_path):
    for code, expected in (("import sys; sys.exit(7)", 7), ("raise SystemExit('bye')", 1), ("1/0", 1), ("pass", 0)):
        assert python("-m", "pytorchlike", "-c", code, cwd=tmp_path).returncode == expected
    found = python("-m", "pytorchlike", "nope.py", cwd=tmp_path)
    assert found.returncode == 2 and f"can't open file '{tmp_path}/nope.py': [Errno 2] No such file or directory" in found.stderr
    found = python("-m", "pytorchlike", "-m", "nope_module", cwd=tmp_path)
    assert found.returncode == 1 and "No module named nope_module" in found.stderr
    found = python("-m", "pytorchlike", cwd=tmp_path)
    assert found.returncode == 2 and found.stdout.startswith("usage: python -m pytorchlike SCRIPT")


def test_tracebacks_begin_in_the_script(tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("def f():\n    raise ValueError('broken')\nf()\n")
    ours, theirs = python("-m", "pytorchlike", "fails.py", cwd=tmp_path), python("fails.py", cwd=tmp_path)
    assert ours.returncode == 1 and "fails.py" in ours.stderr
    assert ours.stderr.replace(str(tmp_path) + "/", "") == theirs.stderr.replace(str(tmp_path) + "/", "")
    script.write_text("def f(:\n")
    ours, theirs = python("-m", "pytorchlike", str(script), cwd=tmp_path), python(str(script), cwd=tmp_path)
    assert ours.returncode == 1 and ours.stderr == theirs.stderr


def test_keyboard_interrupt_ends_the_process_by_its_signal(tmp_path):
    (tmp_path / "waits.py").write_text("import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytorchlike", "waits.py"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt") and "__main__.py" not in errors and "runpy" not in errors


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_worker_processes_see_the_alias(tmp_path, method):
    (tmp_path / "work.py").write_text(
        "import multiprocessing as mp, torch\n"
        "class Box:\n    def __init__(self, n): self.n = n\n"
        "def f(box): return Box(box.n + 1), torch.__name__\n"
        "if __name__ == '__main__':\n"
        f"    with mp.get_context('{method}').Pool(1) as pool:\n"
        "        box, name = pool.apply(f, (Box(1),))\n"
        "    print(box.n, name)\n"
    )
    found = python("-m", "pytorchlike", "work.py", cwd=tmp_path)
    assert found.stdout == "2 torch\n", found.stderr
