"""``python -m pytorchlike SCRIPT [ARGS]``: run a program in which ``torch`` is pytorchlike, otherwise as ``python`` runs it."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import sys
import zipfile
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

from .alias import SHIM_FOLDER, install_as_torch

USAGE = """\
usage: python -m pytorchlike SCRIPT [ARGS]      run a script, a folder or a zip file with a __main__.py, or - for standard input
       python -m pytorchlike -m MODULE [ARGS]   run a module
       python -m pytorchlike -c CODE [ARGS]     run a line of code
       python -m pytorchlike -V                 print the version

The program runs as under python, and `import torch` gives it pytorchlike."""


def main() -> None:
    """Run what the command line names; does not return when the program exits."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        sys.exit(0 if arguments else 2)
    kind = arguments[0]
    if kind in ("-V", "--version"):
        from .version import __version__

        print(f"pytorchlike (torch {__version__})")
        return
    if kind in ("-m", "-c"):
        if len(arguments) < 2:
            _fail(f"Argument expected for the {kind} option\n{USAGE}")
        target, rest = arguments[1], arguments[2:]
    elif kind.startswith("-") and kind != "-":
        _fail(f"unknown option {kind}\n{USAGE}")
    else:
        target, rest = kind, arguments[1:]
    _be_torch()
    try:
        if kind == "-m":
            _run_module(target, rest)
        elif kind == "-c":
            _set_path("")
            _execute(_new_main(), compile(target, "<string>", "exec"), ["-c", *rest])
        elif kind == "-":
            _set_path("")
            _execute(_new_main(), compile(sys.stdin.read(), "<stdin>", "exec"), ["-", *rest])
        elif os.path.isdir(target) or zipfile.is_zipfile(target):
            _set_path(target)
            _run_module("__main__", rest, argv0=target)
        else:
            _run_script(target, rest)
    except SystemExit:
        raise
    except BaseException as error:
        _show_from_user_code(error)
        raise


def _be_torch() -> None:
    install_as_torch()
    if SHIM_FOLDER not in sys.path:
        sys.path.insert(1, SHIM_FOLDER)  # behind the program's own folder, before installed packages


def _fail(message: str) -> NoReturn:
    print(f"pytorchlike: {message}", file=sys.stderr)
    sys.exit(2)


def _set_path(first: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = first


def _new_main(**attributes: Any) -> ModuleType:
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=sys.modules["builtins"], __annotations__={}, **attributes)
    sys.modules["__main__"] = module
    return module


def _execute(module: ModuleType, code: CodeType, argv: list[str]) -> None:
    sys.argv[:] = argv
    exec(code, module.__dict__)


def _run_script(path: str, rest: list[str]) -> None:
    full = os.path.abspath(path)
    try:
        with io.open_code(full) as file:
            source = file.read()
    except OSError as error:
        _fail(f"can't open file '{full}': [Errno {error.errno}] {error.strerror}")
    _set_path(os.path.dirname(os.path.realpath(path)))
    loader = importlib.machinery.SourceFileLoader("__main__", full)
    module = _new_main(__file__=full, __loader__=loader, __cached__=None)
    _execute(module, compile(source, full, "exec"), [path, *rest])


def _run_module(name: str, rest: list[str], argv0: str | None = None) -> None:
    if argv0 is None:
        _set_path(os.getcwd())
    try:
        spec = importlib.util.find_spec(name) if name != "__main__" else importlib.machinery.PathFinder.find_spec(name, sys.path[:1])
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        _fail(f"Error while finding module specification for '{name}' ({type(error).__name__}: {error})")
    code = getattr(spec.loader, "get_code", lambda name: None)(name) if spec is not None and spec.loader is not None else None
    if spec is None or code is None:
        where = "" if argv0 is None else f" in {argv0!r}"
        print(
            f"pytorchlike: No module named {name}{where}" if spec is None else f"pytorchlike: No code object available for {name}",
            file=sys.stderr,
        )
        sys.exit(1)
    module = _new_main(__file__=spec.origin, __loader__=spec.loader, __spec__=spec, __package__=spec.parent, __cached__=spec.cached)
    _execute(module, code, [argv0 or str(spec.origin), *rest])


def _show_from_user_code(error: BaseException) -> None:
    """Let the interpreter print the traceback from the program's first frame on."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    hook = sys.excepthook
    sys.excepthook = lambda kind, value, _: hook(kind, value.with_traceback(trace), trace)


if __name__ == "__main__":
    main()
