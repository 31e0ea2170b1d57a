"""The system fails where folders of checkpoints are read and written: what cannot be looked at is
not absent, a conversion that failed can be continued, and what a file system lacks is done
without."""

import errno
import os

import pytest

import interrupted
from hostile_support import assert_error, listing, run
from interrupted import shim  # noqa: F401
from test_checkpoints_folder import fixture_folder, weight  # noqa: F401

pytestmark = interrupted.NEEDS
STATE = ".dequant-unfinished.json"
LINKLESS = "tmpfile renameat2 linkat"


def environment(shim, **faults):
    return dict(os.environ, LD_PRELOAD=str(shim), FAULT_HIT=os.devnull,
                **{name: str(value) for name, value in faults.items()})


def contents(path):
    return {name: (path / name).read_bytes() for name in listing(path)}


@pytest.mark.parametrize("name", ["config.json", "quantize_config.json", "quant_config.json",
                                  "hf_quant_config.json", "params.json", STATE])
@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE, errno.EACCES, errno.ETIMEDOUT])
def test_a_file_that_could_not_be_looked_at_counted_as_absent(shim, folder, name, error):
    folder.file(weight())
    outcome = run("convert", folder.path, "-o", folder.out, "-q",
                  env=environment(shim, FAULT_UNSEEN=f"in/{name}", FAULT_ERRNO=error))
    assert_error(outcome, 5, name, os.strerror(error))
    assert not folder.out.exists()
    assert run("convert", folder.path, "-o", folder.out, "-q").code == 0


def test_a_state_that_could_not_be_looked_at_let_another_model_into_the_folder(shim, folder):
    folder.file(weight())
    folder.out.mkdir()
    (folder.out / "other.safetensors").write_bytes(b"other")
    for unseen in ("/out", f"/out/{STATE}"):
        outcome = run("convert", folder.path, "-o", folder.out, "-q",
                      env=environment(shim, FAULT_UNSEEN=unseen, FAULT_ERRNO=errno.EIO))
        assert_error(outcome, 5, unseen, os.strerror(errno.EIO))
        assert listing(folder.out) == ["other.safetensors"]


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["new", "force"])
def test_a_folder_that_could_not_be_flushed_lost_the_state_of_its_conversion(shim, folder, force):
    """Each call that flushes fails in turn."""
    folder.file(weight(), "a.safetensors")
    folder.file(weight("v"), "b.safetensors")
    folder.index({name: file for file, stem in (("a.safetensors", "w"), ("b.safetensors", "v"))
                  for name in weight(stem)})
    command = ["convert", folder.path, "-o", folder.out, "-q", "-T1"]
    assert run(*command).code == 0
    wanted = contents(folder.out)
    continued = 0
    for k in range(1, 60):
        if not force:
            for path in folder.out.iterdir():
                path.unlink()
        outcome = run(*command, *force, env=environment(
            shim, FAULT_CALL="fsync", FAULT_AT=k, FAULT_ERRNO=errno.EIO))
        if outcome.code == 0:
            break
        assert_error(outcome, 5, "flush")
        left = listing(folder.out)
        if STATE in left:
            continued += 1
            assert run(*command, "--resume").code == 0
        else:
            assert left == (sorted(wanted) if force else []), left
            assert run(*command, *force).code == 0
        assert contents(folder.out) == wanted
    assert 8 < k < 59 and continued > 5


@pytest.mark.parametrize("command", ["inspect", "convert"])
def test_a_header_that_could_not_be_read_was_malformed_or_taken(shim, folder, command, tmp_path):
    """Each read fails in turn, also of the spaces at the end of the header."""
    source = folder.file(weight(), metadata={"text": "x" * 300_000})
    data = source.read_bytes()
    length = int.from_bytes(data[:8], "little")
    source.write_bytes((length + 200_000).to_bytes(8, "little") + data[8:8 + length]
                       + b" " * 200_000 + data[8 + length:])
    failed = 0
    for k in range(1, 60):
        hit = tmp_path / f"hit{k}"
        rest = ["-o", tmp_path / f"out{k}", "-q", "-T1"] if command == "convert" else []
        env = dict(environment(shim, FAULT_CALL="pread", FAULT_AT=k, FAULT_ERRNO=errno.EIO),
                   FAULT_HIT=str(hit))
        outcome = run(command, folder.path, *rest, env=env)
        if not hit.exists():
            assert outcome.code == 0, outcome
            break
        failed += 1
        assert_error(outcome, 5, os.strerror(errno.EIO))
    assert 5 < failed < 59


@pytest.mark.parametrize("unseen", ["000000.json", "model.safetensors"])
def test_finalize_took_a_file_that_could_not_be_looked_at_for_one_that_is_missing(
        shim, folder, unseen):
    folder.file(weight())
    assert run("convert", folder.path, "-o", folder.out, "-q", "--shard", "0/1").code == 0
    outcome = run("finalize", folder.out,
                  env=environment(shim, FAULT_UNSEEN=unseen, FAULT_ERRNO=errno.ESTALE))
    assert_error(outcome, 5, unseen, os.strerror(errno.ESTALE))
    assert run("finalize", folder.out).code == 0


# File systems that have neither RENAME_NOREPLACE nor links, as some that FUSE mounts.

def test_without_links_no_folder_could_be_written(shim, folder):
    folder.file(weight())
    env = environment(shim, FAULT_WITHOUT=LINKLESS)
    command = ["convert", folder.path, "-o", folder.out, "-q"]
    assert run(*command, env=env).code == 0
    assert listing(folder.out) == ["config.json", "model.safetensors"]
    assert_error(run(*command, env=env), 5, "not empty")


@pytest.mark.parametrize("call", ["renameat", "openat"])
def test_without_links_a_call_that_fails_leaves_nothing(shim, folder, call):
    source, out = folder.file(weight()), folder.path.parent / "out.safetensors"
    before = listing(out.parent)
    codes = []
    for k in range(1, 40):
        outcome = run("convert", source, "-o", out, "-q", "-T1", env=environment(
            shim, FAULT_WITHOUT=LINKLESS, FAULT_CALL=call, FAULT_AT=k, FAULT_ERRNO=errno.EIO))
        if outcome.code == 0:
            break
        codes.append(outcome.code)
        assert_error(outcome, 5)
        assert listing(out.parent) == before
    assert len(codes) in range(1, 20) and listing(out.parent) == sorted([*before, out.name])


def test_without_links_shares_could_not_begin(shim, folder):
    folder.file(weight())
    env = environment(shim, FAULT_WITHOUT=LINKLESS)
    for share in ("0/2", "1/2"):
        assert run("convert", folder.path, "-o", folder.out, "-q", "--shard", share,
                   env=env).code == 0
    assert run("finalize", folder.out, env=env).code == 0
    assert listing(folder.out) == ["config.json", "model.safetensors"]


def test_a_text_of_shares_that_a_process_is_about_to_write_counts_as_none(folder):
    """It is empty for a moment, or for good where that process was killed."""
    folder.file(weight())
    work = folder.out / ".dequant-tasks"
    work.mkdir(parents=True)
    (work / "conversion.json").touch()
    assert run("convert", folder.path, "-o", folder.out, "-q", "--shard", "0/1").code == 0
    assert run("finalize", folder.out).code == 0
    assert listing(folder.out) == ["config.json", "model.safetensors"]
