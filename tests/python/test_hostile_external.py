"""External data: wrong entries are malformed (3), forbidden and unreadable files are errors of
paths (5), and what people really use is read."""

import concurrent.futures
import os
import pathlib
import re
import socket
import subprocess
import threading

import onnx
import pytest

from hostile_support import (CLI, INT8, MIB, assert_error, assert_refused, convert, entry, external,
                             initializer, listing, model, node, quantized, run, sub, tensor)

CODES = bytes([1, 2, 3, 253, 254, 255])
Y = [[0, 0.5, 1], [-2, -1.5, -1]]


def with_external(*more, **entries):
    """A model whose x is elsewhere."""
    return quantized(x=external("x", [2, 3], INT8, **entries) + b"".join(more))


def at(location, **entries):
    return with_external(location=location, length="6", **entries)


@pytest.fixture
def folder(tmp_path):
    """A model folder with a data file of ten bytes, x from the second on."""
    inside = tmp_path / "model"
    inside.mkdir()
    (inside / "w.bin").write_bytes(b"\0\0" + CODES + b"\0\0")
    (inside / "w6.bin").write_bytes(CODES)
    return inside


def assert_read(folder, data):
    outcome = convert(folder, data)
    assert outcome.code == 0, outcome
    proto = onnx.load(folder / "out.onnx")
    assert onnx.numpy_helper.to_array(proto.graph.initializer[0]).tolist() == Y


def test_offset_and_length_place_the_data(folder):
    assert_read(folder, with_external(location="w.bin", offset="2", length="6"))


def test_without_a_length_the_data_is_as_long_as_its_shape(folder):
    assert_read(folder, with_external(location="w.bin", offset="2"))
    (folder / "out.onnx").unlink()
    assert_refused(folder, with_external(location="w.bin", offset="5"), 3, "tensor x")


ENTRIES = {
    "also raw_data": with_external(sub(9, CODES), location="w.bin", length="6"),
    "also empty raw_data": with_external(sub(9, b""), location="w.bin", length="6"),
    "no location": with_external(offset="0"),
    "entries of inner data": quantized(x=tensor("x", [2, 3], INT8, entry("location", "w.bin"),
                                                raw=CODES)),
    "location twice": with_external(entry("location", "w6.bin"), location="w.bin", length="6"),
    "offset twice": with_external(entry("offset", "0"), location="w6.bin", offset="0", length="6"),
    "length twice": with_external(entry("length", "6"), location="w6.bin", length="6"),
    "10^6 entries": with_external(entry("a", "b") * 10**6, location="w6.bin"),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_contradicting_entries_are_refused(folder, name):
    assert_refused(folder, ENTRIES[name], 3, "tensor x")


def test_unknown_entries_are_ignored_with_a_warning_and_a_wrong_checksum_is_refused(folder):
    assert_read(folder, at("w6.bin", __class__="os.system", basepath="/etc"))
    (folder / "out.onnx").unlink()
    outcome = convert(folder, at("w6.bin", **{f"key{i}": "\x1b[31m" for i in range(60)}))
    assert outcome.code == 0 and len(outcome.err.splitlines()) == 60 and "\x1b" not in outcome.err
    (folder / "out.onnx").unlink()
    assert_refused(folder, at("w6.bin", checksum="0" * 40), 3, "tensor x", "SHA-1")


NUMBERS = ["-1", "-0", "+5", " 5", "5 ", "5\n", "0x6", "6e0", "6.0", "", "6\0", "\u0663", "\uff16",
           "9223372036854775808", "18446744073709551616", "18446744073709551622", "9" * 10_000]


@pytest.mark.parametrize("number", NUMBERS, ids=[ascii(n)[:25] for n in NUMBERS])
@pytest.mark.parametrize("name", ["offset", "length"])
def test_numbers_are_decimal_digits(folder, name, number):
    entries = {"length": "6", "location": "w6.bin", name: number}
    assert_refused(folder, with_external(**entries), 3, "tensor x", name)


RANGES = [("11", "6"), ("5", "6"), ("0", "5"), ("0", "7"), ("0", "11"),
          ("9223372036854775807", "6"),
          ("9223372036854775807", "9223372036854775807"), ("6", "9223372036854775807")]


@pytest.mark.parametrize("offset, length", RANGES)
def test_ranges_lie_in_the_file_and_have_the_size_of_the_tensor(folder, offset, length):
    assert_refused(folder, with_external(location="w.bin", offset=offset, length=length),
                   3, "tensor x")


FORBIDDEN = ["../w6.bin", "a/../../w6.bin", "junk/../../w6.bin", "junk/../w6.bin",
             "w6.bin/../w6.bin", "..", "a/..", ".", "", "/etc/passwd", "//x", "C:\\x", "C:x",
             "\\\\srv\\x", "a\\..\\b", "w6.bin\0y", "*/_ORT_MEM_ADDR_/*", "/proc/self/mem",
             "w6.bin/", "a/.", "%2e%2e/w6.bin", "missing", "x" * 300, "x/" * 5000, "line\nbreak",
             "\x1b[31m", b"\xff\xfe", "~/w6.bin"]


@pytest.mark.parametrize("location", FORBIDDEN, ids=[ascii(n)[:25] for n in FORBIDDEN])
def test_names_that_lead_elsewhere_or_nowhere_are_refused(folder, location):
    assert_refused(folder, at(location), 5, "tensor x", "external data")


@pytest.mark.parametrize("location",
                         ["weights..bin", "..data", "...", "..a/b..c/..d...", "./w6.bin",
                          "a//b", "%2e%2e", "name with space", "\u30c7\u30fc\u30bf", "-rf"])
def test_dots_and_signs_within_names_are_harmless(folder, location):
    path = folder / location
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(CODES)
    assert_read(folder, at(location))


def test_links_within_the_folder_are_followed(folder):
    (folder / "link").symlink_to("w6.bin")
    (folder / "sub").mkdir()
    (folder / "sub" / "up").symlink_to("../w6.bin")
    (folder / "again").symlink_to("sub")
    for location in ("link", "sub/up", "again/up"):
        assert_read(folder, at(location))
        (folder / "out.onnx").unlink()


def test_links_out_of_the_folder_are_refused(folder):
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(CODES)
    (folder / "final").symlink_to(outside / "secret")
    (folder / "relative").symlink_to("../outside/secret")
    (folder / "parent").symlink_to(outside)
    (folder / "there and back").symlink_to("../model/w6.bin")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("missing")
    (folder / "memory").symlink_to("/proc/self/mem")
    (folder / "input").symlink_to("/proc/self/fd/0")
    (folder / "zeros").symlink_to("/dev/zero")
    for location in ("final", "relative", "parent/secret", "there and back", "loop", "dangling",
                     "memory", "input", "zeros"):
        assert_refused(folder, at(location), 5, "tensor x", location)


def hugging_face(tmp_path, data, blob="../../blobs/data"):
    """snapshots/1/{model,data} -> blobs/; yields the model's path."""
    snapshot, blobs = tmp_path / "snapshots" / "1", tmp_path / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "model").write_bytes(data)
    (blobs / "data").write_bytes(CODES)
    (snapshot / "model.onnx").symlink_to("../../blobs/model")
    (snapshot / "model.onnx_data").symlink_to(blob)
    return snapshot / "model.onnx"


def test_the_cache_of_hugging_face_is_read(tmp_path):
    source = hugging_face(tmp_path, at("model.onnx_data"))
    for path in (source, tmp_path / "snapshots" / "1" / ".." / "1" / "model.onnx"):
        outcome = run("inspect", path)
        assert outcome.code == 0 and "of constants" in outcome.out, outcome
    here = run("convert", "model.onnx", "-o", tmp_path / "out.onnx", cwd=source.parent)
    assert here.code == 0, here


def test_a_cache_whose_links_lead_apart_is_refused(tmp_path):
    source = hugging_face(tmp_path, at("model.onnx_data"), blob="../../elsewhere")
    (tmp_path / "elsewhere").write_bytes(CODES)
    assert_error(run("inspect", source), 5, "model.onnx_data")


def test_a_link_is_no_cache_when_the_model_is_none(tmp_path):
    """The model itself lies there: then its folder is the only one."""
    source = hugging_face(tmp_path, b"")
    source.unlink()
    source.write_bytes(at("model.onnx_data"))
    assert_error(run("inspect", source), 5, "model.onnx_data")


def test_hard_links_are_files(folder):
    os.link(folder / "w6.bin", folder / "hard")
    assert_read(folder, at("hard"))


def test_what_is_no_file_is_refused_without_waiting(folder):
    (folder / "directory").mkdir()
    os.mkfifo(folder / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.relpath(folder / "socket"))
    locations = ["directory", "fifo", "socket"]
    if os.getuid() == 0:
        os.mknod(folder / "zero", 0o20666, os.makedev(1, 5))
        locations.append("zero")
    for location in locations:
        (folder / "hostile.onnx").write_bytes(at(location))
        assert_error(run("convert", folder / "hostile.onnx", "-o", folder / "out.onnx", timeout=1),
                     5, "tensor x", location)
    listener.close()


def test_the_model_itself_can_hold_the_data(folder):
    data = at("hostile.onnx")
    assert convert(folder, data).code == 0
    y = onnx.numpy_helper.to_array(onnx.load(folder / "out.onnx").graph.initializer[0])
    assert y.ravel().tolist() == [(b - 256 * (b > 127) - 1) / 2 for b in data[:6]]


@pytest.mark.parametrize("option", ["-q", "--force"])
def test_the_output_is_never_the_data_of_the_input(folder, option):
    (folder / "hostile.onnx").write_bytes(at("w6.bin"))
    os.link(folder / "w6.bin", folder / "hard")
    for target in ("w6.bin", "./w6.bin", "hard"):
        outcome = run("convert", "hostile.onnx", "-o", target, option, cwd=folder)
        assert_error(outcome, 5, target)
        assert (folder / "w6.bin").read_bytes() == CODES


def test_many_tensors_may_share_a_file(folder):
    (folder / "shared").write_bytes(bytes(range(250)))
    count = 20_000
    parts = [initializer(external(f"x{i}", [1], INT8, location="shared", offset=str(i % 250),
                                  length="1"))
             for i in range(count)]
    parts += [node("DequantizeLinear", [f"x{i}", "s"], [f"y{i}"]) for i in range(count)]
    scale = initializer(tensor("s", [], 1, raw=b"\0\0\x80\x3f"))
    outcome = convert(folder, model(scale, *parts), "--mem", "128Mi", address_space=192 * MIB)
    assert outcome.code == 0, outcome


def test_many_files_are_not_all_open_at_once(folder):
    count = 300
    for i in range(count):
        (folder / f"f{i}").write_bytes(b"\1")
    parts = [initializer(external(f"x{i}", [1], INT8, location=f"f{i}")) for i in range(count)]
    parts += [node("DequantizeLinear", [f"x{i}", "s"], [f"y{i}"]) for i in range(count)]
    scale = initializer(tensor("s", [], 1, raw=b"\0\0\x80\x3f"))
    (folder / "hostile.onnx").write_bytes(model(scale, *parts))
    done = subprocess.run(["prlimit", "--nofile=64", "--", CLI, "convert",
                           folder / "hostile.onnx", "-o", folder / "out.onnx", "-q"], check=False)
    assert done.returncode == 0


def test_terabytes_of_zeros_are_refused_before_they_are_written(folder):
    """A sparse file can claim any size."""
    with open(folder / "sparse", "wb") as sparse:
        sparse.truncate(1 << 43)
    if subprocess.run(["fallocate", "-l", "4096", folder / "out"], check=False).returncode != 0:
        pytest.skip("NO FALLOCATE: this file system would be filled with zeros")
    (folder / "out").unlink()
    x = initializer(external("x", [1 << 43], INT8, location="sparse"))
    parts = [node("DequantizeLinear", ["x", "s"], [f"y{i}"]) for i in range((1 << 15) + 1)]
    scale = initializer(tensor("s", [], 1, raw=b"\0\0\x80\x3f"))
    assert_error(convert(folder, model(scale, x, *parts[:2])), 5, "bytes are needed and")
    assert_error(convert(folder, model(scale, x, *parts), "--mem", "1Gi"), 3, "of output")
    assert listing(folder) == ["hostile.onnx", "sparse", "w.bin", "w6.bin"]


def has_written(process):
    """How many bytes the process has written by now: the sizes of its inputs are known before the
    first."""
    counters = pathlib.Path(f"/proc/{process.pid}/io").read_text(encoding="ascii")
    return int(re.search(r"^wchar: (\d+)$", counters, re.MULTILINE).group(1))


@pytest.mark.parametrize("change", ["shorter", "longer", "touched"])
def test_data_that_changes_while_it_is_read_is_noticed(folder, change):
    size = 192 * MIB
    path = pathlib.Path(folder / "big")
    with open(path, "wb") as big:
        big.truncate(size)
    data = quantized(x=external("x", [size], INT8, location="big"))
    (folder / "hostile.onnx").write_bytes(data)
    process = subprocess.Popen([CLI, "convert", folder / "hostile.onnx", "-o",
                                folder / "out.onnx", "-q", "-T1", "--mem", "8Mi"],
                               stderr=subprocess.PIPE)
    while has_written(process) < MIB:
        assert process.poll() is None
    if change == "touched":
        os.utime(path)
    else:
        os.truncate(path, MIB if change == "shorter" else size + 1)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, (process.returncode, err)
    assert b"changed while being read" in err
    assert "out.onnx" not in listing(folder)


def test_a_file_swapped_for_a_link_never_lets_out_what_is_outside(folder):
    """Between a check and the opening nothing can change: there is only the opening."""
    secret = folder.parent / "secret"
    secret.write_bytes(b"\x40" * 6)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            for target in (secret, "w6.bin"):
                os.symlink(target, folder / "new")
                os.replace(folder / "new", folder / "x")
    os.symlink("w6.bin", folder / "x")
    (folder / "hostile.onnx").write_bytes(at("x"))
    swapper = threading.Thread(target=swap)
    swapper.start()

    def inspect(_):
        outcome = run("inspect", folder / "hostile.onnx", "-T1")
        assert outcome.code in (0, 5), outcome
        assert "-2 .. 1" in outcome.out or outcome.code == 5, outcome
        return outcome.code
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            codes = list(pool.map(inspect, range(300)))
    finally:
        stop.set()
        swapper.join()
    assert {0, 5} >= set(codes)


def test_survivors_of_the_input_are_copied_and_checked(folder):
    """Float data that stays is copied to the output's own file, and must be where it is said to
    be."""
    kept = external("kept", [6], INT8, location="w.bin", offset="2", length="6")
    data = quantized(initializer(kept), node("Foo", ["kept"], ["foo"]))
    assert convert(folder, data).code == 0
    assert (folder / "out.onnx.data").read_bytes() == CODES
    for entries in ({"offset": "5", "length": "6"}, {"offset": "11"}):
        broken = external("kept", [6], INT8, location="w.bin", **entries)
        (folder / "sub").mkdir(exist_ok=True)
        outcome = convert(folder, quantized(initializer(broken), node("Foo", ["kept"], ["foo"])),
                          "--force")
        assert_error(outcome, 3, "tensor kept")
