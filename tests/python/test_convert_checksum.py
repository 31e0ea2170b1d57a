"""`dequant convert` and others: the SHA-1 of a file of external data must be the one that a tensor
names."""

import hashlib
import os

import numpy as np
import pytest
from onnx import TensorProto, helper

from hostile_support import MIB, run
from support import convert, dequant, dq, model, node, save, session, value
from test_convert_external_size import external, kept_bytes

DATA = bytes(range(200))
SHA1 = hashlib.sha1(DATA).hexdigest()
WRONG = "0" * 40


def network(folder, folded=None, kept=None, location="w.bin"):
    """A folded weight and a float that stays, in one file; `folded` and `kept` are further entries
    of theirs."""
    (folder / "w.bin").write_bytes(DATA)
    tensors = [external("w", [3], TensorProto.INT8, location=location, offset=5, **(folded or {})),
               external("k", [4], TensorProto.FLOAT, location=location, offset=12, length=16,
                        **(kept or {})),
               helper.make_tensor("s", TensorProto.FLOAT, [], [0.5])]
    return save(model([dq("w s", "y", "dq"), node("Identity", "k", "z")], [],
                      [value("y", shape=[3]), value("z", shape=[4])], tensors), folder / "in.onnx")


@pytest.mark.parametrize("digest", [SHA1, SHA1.upper()])
def test_a_right_checksum_was_not_verified(tmp_path, digest):
    source = network(tmp_path, {"checksum": digest}, {"checksum": digest})
    _, report = convert(source)
    assert report["warnings"] == []
    # the output's file is another
    assert "checksum" not in kept_bytes(tmp_path / "out.onnx", "k")[1]


@pytest.mark.parametrize("entries, name",
                         [(({"checksum": WRONG}, {}), "w"), (({}, {"checksum": WRONG}), "k"),
                          (({"checksum": SHA1}, {"checksum": WRONG}), "k")])
@pytest.mark.parametrize("option", [[], ["--dry-run"]])
def test_a_wrong_checksum_was_a_warning(tmp_path, entries, name, option):
    source = network(tmp_path, *entries)
    stderr = dequant("convert", source, "-o", tmp_path / "out.onnx", *option, code=3).stderr
    assert f"tensor {name}: " in stderr and "w.bin" in stderr and SHA1 in stderr and WRONG in stderr
    assert sorted(os.listdir(tmp_path)) == ["in.onnx", "w.bin"]


@pytest.mark.parametrize("text", ["", "junk", SHA1[:-1], SHA1 + "0", SHA1[:-1] + "g", f" {SHA1}"])
def test_what_is_no_sha1_is_refused(tmp_path, text):
    source = network(tmp_path, {"checksum": text})
    assert "no SHA-1" in dequant("convert", source, "-o", tmp_path / "out.onnx", code=3).stderr


def test_no_checksum_skips_it_with_a_warning(tmp_path):
    source = network(tmp_path, {"checksum": WRONG}, {"checksum": "junk"})
    _, report = convert(source, "--no-checksum", verified=False)
    assert report["warnings"] == ["tensor w: the checksum of its external data is not verified",
                                  "tensor k: the checksum of its external data is not verified"]
    assert "checksum" not in kept_bytes(tmp_path / "out.onnx", "k")[1]
    for one, other in zip(session(source).run(None, {}),
                          session(tmp_path / "out.onnx").run(None, {}), strict=True):
        np.testing.assert_array_equal(one, other)


def test_inspect_and_extract_read_no_data_with_a_wrong_checksum(tmp_path):
    source = network(tmp_path, {"checksum": WRONG})
    for arguments in (["inspect", source], ["extract", source, "y", "-o", tmp_path / "y.npy"],
                      ["extract", source, "y", "--raw", "-o", tmp_path / "y.npy"]):
        stderr = dequant(*arguments, code=3).stderr
        assert "tensor w: " in stderr and SHA1 in stderr and not (tmp_path / "y.npy").exists()
    dequant("inspect", source, "--no-checksum")
    dequant("extract", source, "y", "-o", tmp_path / "y.npy", "--no-checksum")
    assert np.load(tmp_path / "y.npy").tolist() == [2.5, 3, 3.5]


def test_extract_needs_the_checksums_of_what_it_reads_alone(tmp_path):
    source = network(tmp_path, kept={"checksum": WRONG})
    dequant("extract", source, "y", "-o", tmp_path / "y.npy")
    dequant("extract", source, "k", "-o", tmp_path / "k.npy", code=3)


def test_run_reads_no_data_with_a_wrong_checksum(tmp_path):
    (tmp_path / "w.bin").write_bytes(DATA)
    made = model([dq("w s", "y")], [], [value("y", shape=[3])],
                 [external("w", [3], TensorProto.INT8, location="w.bin", checksum=WRONG),
                  helper.make_tensor("s", TensorProto.FLOAT, [], [0.5])])
    assert SHA1 in dequant("run", save(made, tmp_path / "in.onnx"), "-o", tmp_path / "out",
                           code=3).stderr


def test_a_file_is_hashed_once_however_many_tensors_and_names_it_has(tmp_path):
    """Under the limits for hostile files: 400 times would take half a minute of the processor."""
    size, count = 64 << 20, 400
    with open(tmp_path / "big", "wb") as file:
        file.truncate(size)
    digest = hashlib.sha1(bytes(size)).hexdigest()
    for i in range(10):
        (tmp_path / f"link{i}").symlink_to("big")
    tensors = [external(f"t{i}", [4], 1, location="./" * (i // 10) + f"link{i % 10}", offset=16 * i,
                        checksum=digest)
               for i in range(count)]
    kept = [node("Identity", t.name, f"{t.name}_out") for t in tensors]
    source = save(model(kept, [], [value(f"t{i}_out", shape=[4]) for i in range(count)], tensors),
                  tmp_path / "in.onnx")
    outcome = run("convert", source, "-o", tmp_path / "out.onnx", "-q", "-T1",
                  address_space=128 * MIB)
    assert outcome.code == 0, outcome


@pytest.mark.filterwarnings("ignore:Ignoring unknown external data key")
def test_unknown_keys_of_external_data_were_kept_in_silence(tmp_path):
    source = network(tmp_path, {"colour": "red"}, {"note": "kept", "basepath": "/x", "no\nte": "1"})
    _, report = convert(source)
    assert report["warnings"] == [
        'tensor w: external_data has the unknown key "colour", which is ignored',
        'tensor k: external_data has the unknown key "note", which is ignored',
        'tensor k: external_data has the unknown key "basepath", which is ignored',
        'tensor k: external_data has the unknown key "no\\x0ate", which is ignored']
    assert kept_bytes(tmp_path / "out.onnx", "k")[1]["note"] == "kept"
