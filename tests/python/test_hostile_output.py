"""Where outputs go: whole or not at all, never in the place of what must stay, and exit code 5 when
they cannot be written."""

import os
import pathlib
import signal
import subprocess

import onnx
import pytest

from hostile_support import (CLI, FLOAT, INT8, LIMITED, MIB, assert_error, external, held_back,
                             initializer, large, listing, model, node, quantized, run, tensor)

SMALL = quantized()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.onnx").write_bytes(SMALL)
    return tmp_path


def convert_to(folder, target, *options, **more):
    return run("convert", "in.onnx", "-o", target, "-q", "-T1", *options, cwd=folder, **more)


def assert_loads(path):
    onnx.load(path)
    outcome = run("inspect", path)
    assert outcome.code == 0, outcome


# What stands in the way.

@pytest.mark.parametrize("options", [[], ["--force"]], ids=["", "force"])
@pytest.mark.parametrize("target", ["in.onnx", "./in.onnx", "../{}/in.onnx", "soft", "hard"])
def test_the_output_is_never_the_input(folder, target, options):
    (folder / "soft").symlink_to("in.onnx")
    os.link(folder / "in.onnx", folder / "hard")
    before = listing(folder)
    assert_error(convert_to(folder, target.format(folder.name), *options), 5, "input itself")
    assert listing(folder) == before and (folder / "in.onnx").read_bytes() == SMALL


@pytest.mark.parametrize("target, words", [("in.onnx", "input itself"), ("soft", "input itself"),
                                           ("data", "holds data of the input")])
def test_extract_took_the_place_of_its_model(folder, target, words):
    (folder / "in.onnx").write_bytes(quantized(x=external("x", [2, 3], INT8, location="data")))
    (folder / "data").write_bytes(b"123456")
    (folder / "soft").symlink_to("in.onnx")
    before = (folder / "in.onnx").read_bytes()
    assert_error(run("extract", "in.onnx", "y", "-o", target, "--force", cwd=folder), 5, words)
    assert (folder / "in.onnx").read_bytes() == before and (folder / "data").read_bytes() == \
        b"123456"


def test_an_existing_output_is_replaced_only_by_force(folder):
    (folder / "out.onnx").write_bytes(b"old")
    assert_error(convert_to(folder, "out.onnx"), 5, "out.onnx", "--force")
    assert (folder / "out.onnx").read_bytes() == b"old"
    assert convert_to(folder, "out.onnx", "--force").code == 0
    assert_loads(folder / "out.onnx")
    assert listing(folder) == ["in.onnx", "out.onnx"]


@pytest.mark.parametrize("options", [[], ["--force"]], ids=["", "force"])
@pytest.mark.parametrize("kind", ["directory", "fifo", "socket", "link", "dangling",
                                  "link to directory"])
def test_only_regular_files_are_replaced(folder, kind, options):
    target = folder / "out.onnx"
    (folder / "other").write_bytes(b"old")
    (folder / "folder").mkdir()
    {"directory": target.mkdir, "fifo": lambda: os.mkfifo(target),
     "socket": lambda: os.mknod(target, 0o140644), "link": lambda: target.symlink_to("other"),
     "dangling": lambda: target.symlink_to("missing"),
     "link to directory": lambda: target.symlink_to("folder")}[kind]()
    before = listing(folder)
    assert_error(convert_to(folder, "out.onnx", *options), 5, "out.onnx")
    assert listing(folder) == before
    assert (folder / "other").read_bytes() == b"old" and listing(folder / "folder") == []


@pytest.mark.parametrize("target",
                         ["/dev/null", "/dev/full", "missing/out.onnx", "in.onnx/out.onnx", "",
                          "folder/", "folder/.", "..", "/", "x" * 256, "x/" * 3000 + "y"])
def test_places_where_no_file_can_be_are_errors(folder, target):
    (folder / "folder").mkdir()
    assert_error(convert_to(folder, target, "--force"), 5)
    assert listing(folder) == ["folder", "in.onnx"] and listing(folder / "folder") == []


@pytest.mark.parametrize("name", ["x" * 255, "--help.onnx", "-", " ", "line\nbreak", "\\",
                                  "\u30e2\u30c7\u30eb", b"\xff\xfe", "*", "out.onnx.data",
                                  ".dq-tmp-0"])
@pytest.mark.parametrize("options", [[], ["--external-data"]], ids=["inner", "external"])
def test_any_file_name_will_do(folder, name, options):
    (folder / "in.onnx").write_bytes(large(1))
    name = os.fsdecode(name)
    if len(name) == 255 and options:
        name = name[:250]
    assert convert_to(folder, f"./{name}", *options).code == 0
    proto = onnx.load_model_from_string((folder / name).read_bytes())
    if options:
        onnx.load_external_data_for_model(proto, str(folder))
    assert len(proto.graph.initializer[0].raw_data) == 4 * MIB
    assert len(listing(folder)) == (3 if options else 2)


COMMANDS = {
    "convert": ["convert", "in", "-o"], "dry convert": ["convert", "in", "-n", "-o"],
    "extract": ["extract", "in", "y", "-o"], "extract all": ["extract", "in", "--all", "-o"],
    "inspect": ["inspect", "in", "--html"], "run": ["run", "in", "-o"],
    "vectors": ["vectors", "microsoft", "-n0", "-o"],
    "op": ["op", "onnx", "--x", "in", "--scale", "in", "-o"],
    "op tensorflow": ["op", "tensorflow", "--x", "in", "--min", "0", "--max", "1", "-o"],
    "op directml": ["op", "directml", "--desc", "in", "--x", "in", "--scale", "in", "-o"],
}


def assert_found_before_reading(folder, command, target, *words):
    """What is read is no model and no tensor: an error that says so comes from reading it."""
    (folder / "in").write_bytes(b"no model")
    before = listing(folder)
    assert_error(run(*COMMANDS[command], target, cwd=folder), 5, *words)
    assert listing(folder) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_folder_was_found_after_reading(folder, command):
    assert_found_before_reading(folder, command, "missing/out", "folder missing:", "No such file")
    assert_found_before_reading(folder, command, "in.onnx/out", "folder in.onnx:",
                                "Not a directory")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_without_permission_was_found_after_reading(folder, command):
    (folder / "closed").mkdir(mode=0o555)
    (folder / "in").write_bytes(b"no model")
    done = subprocess.run([*held_back(folder), CLI, *COMMANDS[command], "closed/out"], cwd=folder,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == 5 and b"folder closed: Permission denied" in done.stderr, done


@pytest.mark.parametrize("command", ["extract all", "run"])
def test_a_folder_for_outputs_without_permission_was_found_after_reading(folder, command):
    assert_found_before_reading(folder, command, "in.onnx", "folder in.onnx", "Not a directory")
    assert_found_before_reading(folder, command, "missing/out/", "folder missing")
    (folder / "there").mkdir()
    outcome = run(*COMMANDS[command], "there/", cwd=folder)
    # the folder is fine, the model is not
    assert outcome.code in (3, 4) and listing(folder / "there") == [], outcome


@pytest.mark.parametrize("command", COMMANDS)
def test_standard_output_was_a_file_of_the_name_of_a_dash(folder, command):
    outcome = run(*COMMANDS[command], "-", cwd=folder)
    assert outcome.code == 2 and "standard output; ./- is a file" in outcome.err, outcome
    assert listing(folder) == ["in.onnx"]


def test_foreign_data_files_are_never_overwritten(folder):
    (folder / "in.onnx").write_bytes(large(1))
    (folder / "out.onnx.data").write_bytes(b"mine")
    (folder / "out.onnx.data.1").mkdir()
    (folder / "out.onnx.data.2").symlink_to("in.onnx")
    outcome = run("convert", "in.onnx", "-o", "out.onnx", "--external-data", "--force",
                  "--json", cwd=folder)
    assert outcome.code == 0 and '"data_file": "out.onnx.data.3"' in outcome.out, outcome
    assert (folder / "out.onnx.data").read_bytes() == b"mine"
    assert (folder / "in.onnx").read_bytes() == large(1)
    assert (folder / "out.onnx.data.3").stat().st_size == 4 * MIB
    onnx.load(folder / "out.onnx")


@pytest.mark.parametrize("options", [[], ["--force"], ["--dry-run"]], ids=["", "force", "dry"])
def test_a_link_that_leads_nowhere_at_the_name_of_the_data_file_was_an_error(folder, options):
    (folder / "in.onnx").write_bytes(large(1))
    (folder / "out.onnx.data").symlink_to("missing")
    outcome = run("convert", "in.onnx", "-o", "out.onnx", "--external-data", "--json",
                  *options, cwd=folder)
    assert outcome.code == 0 and '"data_file": "out.onnx.data.1"' in outcome.out, outcome
    assert os.readlink(folder / "out.onnx.data") == "missing" and not (folder / "missing").exists()
    if options != ["--dry-run"]:
        onnx.load(folder / "out.onnx")


def test_conversions_with_force_failed_because_another_took_the_name_of_the_data_file(folder):
    (folder / "in.onnx").write_bytes(large(1))
    command = [CLI, "convert", "in.onnx", "-o", "out.onnx", "--external-data", "--force",
               "-q", "-T1"]
    for count in (*[2] * 60, *[5] * 12):
        racers = [subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE)
                  for _ in range(count)]
        errors = [racer.communicate(timeout=60)[1] for racer in racers]
        assert [racer.returncode for racer in racers] == [0] * count, errors
        assert len(list(folder.glob("out.onnx.data*"))) == count
        onnx.load(folder / "out.onnx")
        assert {p.name for p in folder.iterdir() if not p.name.startswith("out.onnx")} == \
            {"in.onnx"}
        for path in folder.glob("out.onnx*"):
            path.unlink()


@pytest.mark.parametrize("command, target", [
    (["extract", "in.onnx", "--all"], "file"), (["run", "in.onnx"], "file"),
    (["extract", "in.onnx", "--all"], "dangling"), (["run", "in.onnx"], "dangling"),
    (["convert", "in.onnx"], "folder"), (["extract", "in.onnx", "y"], "folder")])
def test_force_was_advised_where_it_was_given(folder, command, target):
    (folder / "file").write_bytes(b"old")
    (folder / "folder").mkdir()
    (folder / "dangling").symlink_to("missing")
    outcome = run(*command, "-o", target, "--force", cwd=folder)
    assert_error(outcome, 5, target)
    assert "--force" not in outcome.err


def test_a_model_over_two_gibibytes_goes_to_a_data_file(folder):
    with open(folder / "sparse", "wb") as sparse:
        sparse.truncate(600 * MIB)
    data = model(node("DequantizeLinear", ["x", "s"], ["y"]),
                 initializer(external("x", [600 * MIB], INT8, location="sparse")),
                 initializer(tensor("s", [], FLOAT, raw=b"\0\0\x80\x3f")))
    (folder / "in.onnx").write_bytes(data)
    outcome = run("convert", "in.onnx", "-o", "out.onnx", "--dry-run", "--json", cwd=folder)
    assert outcome.code == 0 and f'"data_bytes": {2400 * MIB}' in outcome.out, outcome
    assert listing(folder) == ["in.onnx", "sparse"]


@pytest.mark.parametrize("umask, mode", [(0o022, 0o644), (0o077, 0o600), (0o777, 0)])
def test_the_mode_of_outputs_follows_the_umask(folder, umask, mode):
    assert convert_to(folder, "out.onnx", umask=umask).code == 0
    assert (folder / "out.onnx").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755, 0])
@pytest.mark.parametrize("options", [[], ["--external-data"]], ids=["inner", "external"])
def test_force_replaced_a_private_file_by_a_public_one(folder, mode, options):
    (folder / "in.onnx").write_bytes(large(1))
    target = folder / "out.onnx"
    target.write_bytes(b"old")
    target.chmod(mode)
    owner = (1234, 2345) if os.getuid() == 0 else (os.getuid(), os.getgid())
    os.chown(target, *owner)
    assert convert_to(folder, "out.onnx", "--force", *options, umask=0o022).code == 0
    for path in folder.glob("out.onnx*"):  # what is in the data file was in the model
        s = path.stat()
        assert (s.st_mode & 0o7777, s.st_uid, s.st_gid) == (mode, *owner), path
    assert len(list(folder.glob("out.onnx*"))) == 1 + len(options)


OTHERS = {"extract": ["extract", "in.onnx", "y", "-o", "out"],
          "inspect": ["inspect", "in.onnx", "--html", "out"],
          "vectors": ["vectors", "microsoft", "-n0", "-o", "out"],
          "op": ["op", "onnx", "--x", "x.npy", "--scale", "s.npy", "-o", "out"]}


@pytest.mark.parametrize("command", OTHERS)
def test_other_commands_replaced_private_files_by_public_ones(folder, command):
    for name, options in {"x": ["--raw"], "s": []}.items():
        assert run("extract", "in.onnx", name, "-o", f"{name}.npy", *options, cwd=folder).code == 0
    (folder / "out").write_bytes(b"old")
    (folder / "out").chmod(0o600)
    assert run(*OTHERS[command], "--force", cwd=folder).code == 0
    assert (folder / "out").stat().st_mode & 0o7777 == 0o600
    assert (folder / "out").stat().st_size > 3


# No room.

def test_a_full_disk_leaves_nothing(folder):
    """A file system of every size from nothing to enough, in 64 KiB steps, old file and all."""
    if os.getuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        pytest.skip("NOT ROOT: a full disk needs a file system of its own")
    (folder / "in.onnx").write_bytes(large(1))
    (folder / "mnt").mkdir()
    script = """
      mount -t tmpfs -o size=$1k tmpfs mnt || exit 99
      [ -z "$3" ] || echo old > mnt/out.onnx || exit 98
      $2 convert in.onnx -o mnt/out.onnx -q -T1 $3 $4; code=$?
      if [ $code = 0 ]; then $2 inspect mnt/out.onnx > /dev/null || exit 97
      elif [ -n "$3" ]; then
        [ "$(cat mnt/out.onnx)" = old ] && [ "$(ls -A mnt)" = out.onnx ] || exit 96
      else [ -z "$(ls -A mnt)" ] || exit 95; fi
      exit $code"""
    codes = []
    for size in range(4, 6 * 1024, 192):
        for force in ("", "--force"):
            for external_data in ("", "--external-data"):
                done = subprocess.run(["unshare", "-m", "bash", "-c", script, "-",
                                       str(size), CLI, force,
                                       external_data], cwd=folder,
                                      stderr=subprocess.PIPE, timeout=60,
                                      check=False)
                assert done.returncode in (0, 5), (size, force, external_data, done)
                assert (done.returncode == 5) == any(
                    words in done.stderr for words in (b"are needed and", b"No space left")), done
                codes.append(done.returncode)
    assert codes[0] == 5 and codes[-1] == 0


def test_the_file_size_limit_is_an_error_and_no_signal(folder):
    (folder / "in.onnx").write_bytes(large(1))
    target = folder / "out.onnx"
    for size in [0, 1, 100, 4096, *range(0, 4 * MIB + 65536, 262144)]:
        done = subprocess.run(["prlimit", f"--fsize={size}", CLI, "convert", "in.onnx",
                               "-o", "out.onnx",
                               "-q"], cwd=folder, stderr=subprocess.PIPE, check=False)
        assert done.returncode == (0 if size > 4 * MIB else 5), done
        assert done.returncode == 0 or b"File too large" in done.stderr, done
        assert target.exists() == (done.returncode == 0)


# Signals.

def started_conversion(folder, *options):
    """A conversion of some seconds that has begun to write."""
    process = subprocess.Popen([CLI, "convert", "in.onnx", "-o", "out.onnx", "-q", *options],
                               cwd=folder,
                               stderr=subprocess.PIPE)
    fds = pathlib.Path(f"/proc/{process.pid}/fd")
    while process.poll() is None:
        try:
            if any("deleted" in os.readlink(f) or "/.dq-tmp-" in os.readlink(f)
                   for f in fds.iterdir()):
                break
        except OSError:  # closed meanwhile
            continue
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("options", [[], ["--external-data"]], ids=["inner", "external"])
def test_a_signal_ends_a_conversion_that_leaves_nothing(folder, number, options):
    (folder / "in.onnx").write_bytes(large(64))
    process = started_conversion(folder, *options)
    process.send_signal(number)
    process.communicate(timeout=10)
    assert process.returncode == -number
    assert listing(folder) == ["in.onnx"]


def test_conversions_that_race_for_one_output_have_one_winner(folder):
    (folder / "in.onnx").write_bytes(large(1))
    for _ in range(10):
        racers = [subprocess.Popen([CLI, "convert", "in.onnx", "-o", "out.onnx", "-q"], cwd=folder,
                                   stderr=subprocess.DEVNULL) for _ in range(4)]
        codes = sorted(r.wait() for r in racers)
        assert codes == [0, 5, 5, 5]
        assert_loads(folder / "out.onnx")
        assert listing(folder) == ["in.onnx", "out.onnx"]
        (folder / "out.onnx").unlink()


@pytest.mark.skipif(not LIMITED, reason="SANITIZED: the sanitizer needs descriptors of its own")
def test_few_descriptors_are_enough_or_an_error(folder):
    codes = []
    for count in range(4, 16):
        done = subprocess.run(["prlimit", f"--nofile={count}", CLI, "convert", "in.onnx",
                               "-o", "out.onnx", "-q", "--force"], cwd=folder,
                              stderr=subprocess.PIPE, check=False)
        codes.append(done.returncode)
        assert done.returncode in (0, 5, 127), done  # 127: the loader found no room for a library
    assert codes[-1] == 0
    assert listing(folder) == ["in.onnx", "out.onnx"]
