"""Type checkers see the functions as they are."""

import ast
import importlib.util
import inspect
import pathlib
import pydoc
import re
import subprocess
import sys

import numpy as np
import pytest

import dequant

HERE = pathlib.Path(__file__).parent
CONFIG = HERE.parents[1] / "pyproject.toml"
PACKAGE = pathlib.Path(dequant.__file__).parent
FUNCTIONS = [("onnx", "dequantize_linear"), ("microsoft", "dequantize_linear"),
             ("webnn", "dequantize_linear"),
             ("tensorflow", "dequantize"), ("directml", "dequantize"),
             ("directml", "element_wise_dequantize_linear")]

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mypy") is None,
                                reason="NO MYPY: stubs are not checked")


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Runs a program of mypy's outside of the repository, so that it finds the package that is
    installed."""
    folder = tmp_path_factory.mktemp("mypy")

    def run(module, *arguments):
        return subprocess.run([sys.executable, "-m", module, *map(str, arguments)], cwd=folder,
                              text=True, check=False, capture_output=True, timeout=500)
    return run


def test_right_uses_are_accepted(mypy):
    done = mypy("mypy", "--strict", "--config-file=", HERE / "stub_uses" / "right.py")
    assert done.returncode == 0, done.stdout


def test_wrong_uses_are_refused(mypy):
    file = HERE / "stub_uses" / "wrong.py"
    lines = enumerate(file.read_text().splitlines(), 1)
    wanted = {(i, line.rpartition("  # ")[2]) for i, line in lines if "  # " in line}
    done = mypy("mypy", "--strict", "--config-file=", "--no-pretty", file)
    errors = re.findall(r"wrong\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.M)
    found = {(int(line), code) for line, code in errors}
    assert wanted == found, done.stdout


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.13"])
def test_the_package_itself_is_typed(mypy, version):
    done = mypy("mypy", "--config-file", CONFIG, "--python-version", version, "-p", "dequant")
    assert done.returncode == 0, done.stdout
    assert (PACKAGE / "py.typed").exists()


def test_stubs_and_modules_have_the_same_names(mypy):
    done = mypy("mypy.stubtest", "dequant", "--mypy-config-file", CONFIG,
                "--ignore-unused-allowlist", "--allowlist",
                HERE / "stub_uses" / "allowed.txt")
    assert done.returncode == 0, done.stdout + done.stderr


def parameters(text):
    """Names, kinds and defaults of a function's parameters, of Python's text of it."""
    arguments = ast.parse(text).body[0].args
    positional = [*arguments.posonlyargs, *arguments.args]
    without = [None] * (len(positional) - len(arguments.defaults))

    def default(node):
        return "required" if node is None else ast.literal_eval(node)
    first = zip(positional, without + arguments.defaults, strict=True)
    last = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return ([(a.arg, "positional", default(d)) for a, d in first]
            + [(a.arg, "keyword", default(d)) for a, d in last])


@pytest.mark.parametrize("module, name", FUNCTIONS)
def test_stubs_have_the_parameters_of_the_functions(module, name):
    kinds = {inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional",
             inspect.Parameter.KEYWORD_ONLY: "keyword"}
    signature = inspect.signature(getattr(getattr(dequant, module), name))
    actual = [(p.name, kinds[p.kind], "required" if p.default is p.empty else p.default)
              for p in signature.parameters.values()]
    overloads = [node for node in ast.parse((PACKAGE / f"{module}.pyi").read_text()).body
                 if isinstance(node, ast.FunctionDef) and node.name == name]
    assert len(overloads) == 3
    for node in overloads:
        stated = parameters(ast.unparse(node))
        assert [row[:2] for row in stated] == [row[:2] for row in actual]
        for (parameter, _, there), (_, _, here) in zip(stated, actual, strict=True):
            assert there == here or (parameter in ("out", "like") and there == "required")


def public_callables():
    """Everything that users may call, by its name: functions, classes, and methods of these."""
    modules = [dequant, *(m for m in vars(dequant).values()
                          if inspect.ismodule(m) and m.__name__.startswith("dequant.")
                          and not m.__name__.startswith("dequant._"))]
    for module in modules:
        for name in module.__all__:
            value = getattr(module, name)
            if not callable(value):
                continue
            yield f"{module.__name__}.{name}", value
            if inspect.isclass(value):
                own = {n for c in value.__mro__ if c.__module__.startswith("dequant")
                       for n in vars(c) if not n.startswith("_")}
                yield from ((f"{module.__name__}.{name}.{n}", v) for n, v in
                            inspect.getmembers(value, callable) if n in own)


CALLABLES = dict(public_callables())


def test_there_are_public_callables():
    assert len(CALLABLES) > 50
    assert {f"dequant.{module}.{name}" for module, name in FUNCTIONS} <= set(CALLABLES)


@pytest.mark.parametrize("name", CALLABLES)
def test_every_public_callable_has_a_signature_that_help_shows(name):
    value = CALLABLES[name]
    signature = inspect.signature(value)
    shown = pydoc.plain(pydoc.render_doc(value))
    if not (isinstance(value, type) and issubclass(value, Exception)):  # these take all arguments
        assert all(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
                   for p in signature.parameters.values()), signature
    if inspect.isroutine(value):
        text = f"{name.rpartition('.')[2]}{signature}"
        assert text.replace(" ", "") in re.sub(r"\s", "", shown)
        assert inspect.getdoc(value)
        if name.count(".") == 2 and not inspect.isclass(getattr(dequant, name.split(".")[1])):
            assert signature.return_annotation is not signature.empty
    for parameter in signature.parameters:
        assert parameter in shown


@pytest.mark.parametrize("module, name", FUNCTIONS)
def test_function_says_its_signature_once(module, name):
    assert not getattr(getattr(dequant, module), name).__doc__.startswith(name)


@pytest.mark.parametrize("module, name", FUNCTIONS)
def test_help_shows_real_types_and_the_defaults_that_calls_have(module, name):
    function = getattr(getattr(dequant, module), name)
    shown = pydoc.plain(pydoc.render_doc(function))
    line = next(line for line in shown.splitlines() if line.strip().startswith(f"{name}("))
    assert "Tensor | Floats" in line and "np.ndarray | torch.Tensor" in line
    arguments = ast.parse(f"def {line.strip()}: ...").body[0].args
    named = [a.arg for a in [*arguments.args, *arguments.kwonlyargs]]
    defaults = [*arguments.defaults, *arguments.kw_defaults]
    tensors = [np.uint8([[1, 2]]), 0.5, 3]
    if module == "webnn":
        tensors[1:] = [[[0.5]], [[3]]]
    tensors = tensors[:len(named) - len([d for d in defaults if d is not None])]
    given = {n: ast.literal_eval(d) for n, d in zip(named[::-1], defaults[::-1], strict=False)
             if d is not None}
    assert len(tensors) + len(given) == len(named)
    np.testing.assert_array_equal(function(*tensors), function(
        **dict(zip(named, tensors, strict=False)), **given))


def test_help_of_schemes_shows_types():
    signature = inspect.signature(dequant.gptq.dequantize)
    assert str(signature.parameters["qweight"]) == "qweight: 'Tensor'"
    assert str(signature.parameters["g_idx"]) == "g_idx: 'Tensor | None' = None"
    assert str(signature.parameters["bits"]) == "bits: 'Option | None' = None"
    assert signature.return_annotation == "np.ndarray | torch.Tensor"


def test_functions_say_what_they_are():
    for module, name in FUNCTIONS:
        function = getattr(getattr(dequant, module), name)
        assert function.__name__ == name and len(function.__doc__.splitlines()) > 5
