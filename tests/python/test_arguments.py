"""What the command line says of its arguments."""

import pytest

from hostile_support import assert_error, run
from support import dequant


def test_a_model_without_a_name_had_a_sentence_without_a_name(tmp_path):
    for command in (["convert", "", "-o", "out.onnx"], ["inspect", ""], ["diff", "", ""]):
        assert_error(run(*command, cwd=tmp_path), 5, "\"\" is no file name")


def test_arguments_that_were_not_expected_were_listed_backwards(tmp_path):
    error = dequant("convert", "m.onnx", "-o", "a.onnx", "--DTYPE", "float16", "more", code=2,
                    cwd=tmp_path).stderr
    assert "The following arguments were not expected: --DTYPE float16 more\n" in error
    error = dequant("convert", "m.onnx", "-o", "a.onnx", "more", code=2, cwd=tmp_path).stderr
    assert "The following argument was not expected: more\n" in error


@pytest.mark.parametrize("command", ["convert", "plan", "check"])
def test_options_of_one_value_were_shown_as_if_they_took_several(command):
    lines = dequant(command, "--help").stdout.split("\n")
    for option in ("--include", "--exclude"):
        at = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{option} GLOB"))
        text = " ".join(lines[at:at + 2])
        assert "GLOB ..." not in text and "may be repeated" in " ".join(text.split()), text


@pytest.mark.parametrize("arguments", [["convert", "m.onnx", "--output=", "--force"],
                                       ["convert", "m.onnx", "-o", "out.onnx", "--exclude=",
                                        "--require-float"],
                                       ["bench", "--below=", "--json"]])
def test_an_option_with_an_empty_value_took_the_next_argument(tmp_path, arguments):
    [option] = [a.removesuffix("=") for a in arguments if a.endswith("=")]
    assert_error(run(*arguments, cwd=tmp_path), 2, f"{option} has no value")
    assert not list(tmp_path.iterdir())


def test_names_of_files_may_end_as_such_options_do(tmp_path):
    assert_error(run("inspect", "--", "--x=", cwd=tmp_path), 5, "--x=: No such file")


@pytest.mark.parametrize("arguments, environment", [
    (["bench", "--cell", "\x1b[31m"], {}), (["bench", "--target", "\x1b[31m"], {}),
    (["inspect", "m.onnx"], {"DEQUANT_FORCE_TARGET": "\x1b[31m"})])
def test_control_characters_of_names_reached_the_terminal(arguments, environment, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    error = dequant(*arguments, code=2).stderr
    assert "\x1b" not in error and r"\x1b[31m" in error
