"""Standard streams that are full, closed or without a reader: what the command says and how it
ends."""

import os
import signal
import subprocess

import onnx
import pytest

from hostile_support import CLI, MIB, large, quantized, run


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.onnx").write_bytes(quantized())
    return tmp_path


def converted(folder, target):
    return run("convert", "in.onnx", "-o", target, "-q", "-T1", cwd=folder)


RESULTS = [["inspect", "in.onnx"], ["inspect", "in.onnx", "--json"], ["--help"], ["--version"],
           ["convert", "--help"], ["convert", "in.onnx", "-o", "out.onnx", "--json"]]


@pytest.mark.parametrize("arguments", RESULTS)
@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_results_that_reach_nobody_are_no_success(folder, arguments, redirection):
    done = subprocess.run(["bash", "-c", f'"$0" "$@" {redirection}', CLI, *arguments], cwd=folder,
                          stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 5, done
    assert done.stderr == b"dequant: error: cannot write to standard output\n"


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_a_lost_report_of_differences_was_silent(folder, redirection):
    assert converted(folder, "out.onnx").code == 0
    proto = onnx.load(folder / "out.onnx")
    del proto.graph.initializer[0]
    onnx.save(proto, folder / "less.onnx")
    arguments = ["diff", "out.onnx", "less.onnx"]
    assert run(*arguments, cwd=folder).code == 1
    done = subprocess.run(["bash", "-c", f'"$0" "$@" {redirection}', CLI, *arguments], cwd=folder,
                          stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr == b"dequant: error: cannot write to standard output\n"


@pytest.mark.parametrize("arguments", RESULTS)
def test_a_reader_that_is_gone_ends_the_command_by_the_signal_of_pipes(folder, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([CLI, *arguments], cwd=folder, stdout=writer,
                              stderr=subprocess.PIPE, check=False, timeout=60)
    finally:
        os.close(writer)
    assert done.returncode == -signal.SIGPIPE and not done.stderr, done


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "<&- >&- 2>&-"])
def test_errors_that_reach_nobody_keep_their_exit_code(folder, redirection):
    script = f'"$0" "$@" {redirection}'
    for arguments, code in ((["inspect", "missing"], 5), (["inspect", CLI], 3), (["--unknown"], 2)):
        done = subprocess.run(["bash", "-c", script, CLI, *arguments], cwd=folder, check=False)
        assert done.returncode == code


@pytest.mark.parametrize("options", [[], ["-q"], ["--external-data"], ["--json"]], ids=str)
def test_nothing_is_printed_into_a_file_in_the_place_of_a_closed_stream(folder, options):
    (folder / "in.onnx").write_bytes(large(1))
    assert converted(folder, "expected.onnx").code == 0
    script = '"$0" convert in.onnx -o expected.onnx "$@"; "$0" convert in.onnx -o out.onnx "$@"'
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        subprocess.run(["bash", "-c", f"({script}) {closed}", CLI, *options], cwd=folder,
                       check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        proto = onnx.load(folder / "out.onnx")
        assert len(proto.graph.initializer[0].raw_data) == 4 * MIB
        for path in folder.glob("out.onnx*"):
            path.unlink()
