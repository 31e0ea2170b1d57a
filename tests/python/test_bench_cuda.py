"""bench/cuda: the comparisons of a device, run on the CPU: torch's expressions of all schemes have
the bits of dequant, and what differs, is slow or is missing is said."""

import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import types
from contextlib import redirect_stdout

import pytest

torch = pytest.importorskip("torch", reason="NO TORCH: the comparisons of devices are not tested")
pytest.importorskip("dequant", reason="NO PACKAGE dequant: scripts/wheel.sh installs it")
pytest.importorskip("safetensors", reason="NO safetensors")

torch.set_num_threads(1)  # tensors are small, and other tests have the other processors
ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench" / "cuda"


def load(name):
    """A program of bench/cuda, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"cuda_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


peers, loading = load("peers"), load("loading")
schemes, device, generated, memory = (loading.schemes, loading.devices, loading.generated,
                                      loading.memory)
SMALL = ["--device", "cpu", "--elements", str(schemes.STEP)]
without_cuda = pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is here")


@pytest.fixture
def times(monkeypatch):
    """Measurements are these pairs, and take no time."""
    pairs = [(2.0, 3.0), (2.0, 3.0)]
    monkeypatch.setattr(device.measure, "interleaved", lambda *_: pairs)
    return pairs


def test_the_expressions_of_torch_have_the_bits_of_dequant(times, tmp_path, capsys):
    report = tmp_path / "report.json"
    assert peers.main([*SMALL, "--peers", "torch", "--json", str(report)]) == 0
    rows = json.loads(report.read_text())
    assert [row["cell"] for row in rows] == [cell.name for cell in schemes.CELLS]
    assert all(row["differing"] == 0 and row["elements"] == schemes.STEP for row in rows)
    lines = capsys.readouterr().out.splitlines()
    table = [line for line in lines if line.startswith("| ")][2:]
    assert len(table) == len(rows) and all(line.endswith("| 1.50 | equal |") for line in table)
    assert max(len(line) for line in lines if not line.startswith("|")) <= 100


def test_the_model_of_onnx_runtime_is_the_same_cell(times, tmp_path, capsys):
    pytest.importorskip("onnxruntime", reason="NO ONNX RUNTIME: its bits are not compared")
    report = tmp_path / "report.json"
    assert peers.main([*SMALL, "--peers", "onnxruntime", "--json", str(report)]) == 0
    rows = {row["cell"]: row for row in json.loads(report.read_text())}
    assert list(rows) == [cell.name for cell in schemes.CELLS if cell.kind == "onnx"]
    done = {name: row["differing"] for name, row in rows.items() if "left_out" not in row}
    assert "int4 -> float16, blocks of 32" in done and "uint8 -> float32, per axis 0" in done
    assert not any(done.values())
    said = " ".join(capsys.readouterr().out.partition("* ONNX Runtime has no ")[2].split())
    assert all(name in said for name in set(rows) - set(done))


def test_a_provider_that_is_replaced_by_the_cpu_is_refused(monkeypatch):
    """onnxruntime gives a session on the CPU if libraries of CUDA are missing."""
    seen = {}

    class Options:
        def add_session_config_entry(self, name, value):
            seen[name] = value

    class Session:
        def __init__(self, model, options, providers):
            seen["providers"] = providers

        def get_providers(self):
            return ["CPUExecutionProvider"]
    runtime = types.SimpleNamespace(
        __version__="1", SessionOptions=Options, InferenceSession=Session,
        get_available_providers=lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    monkeypatch.setattr(torch.cuda, "current_stream",
                        lambda: types.SimpleNamespace(cuda_stream=0x70))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    with pytest.raises(RuntimeError, match="CUDAExecutionProvider could not be loaded"):
        peers.others.OnnxRuntime("cuda").session(b"")
    assert seen == {"session.disable_cpu_ep_fallback": "1", "providers": [
        ("CUDAExecutionProvider", {"device_id": 1, "user_compute_stream": "112"})]}


def wrong(cell, change):
    def expression(**tensors):
        y = cell.expression(**tensors)
        change(y.view(device.BITS[y.element_size()]))
        return y
    return cell._replace(expression=expression)


def test_a_wrong_bit_and_a_faster_peer_are_failures(times, monkeypatch, capsys):
    cell = next(cell for cell in schemes.CELLS if cell.name.startswith("FP8"))

    def change(bits):
        bits[5, 7] += 2
    monkeypatch.setattr(schemes, "CELLS", [wrong(cell, change)])
    assert peers.main([*SMALL, "--peers", "torch"]) == 1
    assert f"1 of {schemes.STEP} differ, at most 2 ulp: UNEXPLAINED" in capsys.readouterr().out
    monkeypatch.setattr(schemes, "CELLS", [cell])
    times[:] = [(4.0, 3.0), (4.0, 3.0)]
    assert peers.main([*SMALL, "--peers", "torch"]) == 1
    assert "the time of torch eager is 0.75 of that of dequant, bits: equal" in \
        capsys.readouterr().err


def test_a_reason_is_for_its_peer_its_cells_and_so_many_units():
    row = {"peer": "bitsandbytes", "cell": "FP4 -> bfloat16", "largest": 0}
    assert "code 8 of FP4" in peers.reason(row)
    for other in ({"peer": "torch eager"}, {"cell": "NF4 -> bfloat16"}, {"largest": 1},
                  {"largest": None}):
        assert peers.reason(row | other) == ""


def test_differences_are_counted_in_units_in_the_last_place(monkeypatch):
    monkeypatch.setattr(device, "PART", 3)
    nan, inf, tiny = float("nan"), float("inf"), 2.0**-24  # the least float16
    ours = torch.tensor([1.0, nan, 0.0, inf, -tiny, 2.0], dtype=torch.float16)
    assert device.differing(ours, ours.clone()) == (0, 0)
    zeros = torch.tensor([1.0, nan, -0.0, inf, -tiny, 2.0], dtype=torch.float16)
    assert device.differing(ours, zeros) == (1, 0)
    steps = torch.tensor([1.0, nan, 0.0, 65504.0, 2 * tiny, 2.0], dtype=torch.float16)
    assert device.differing(ours, steps) == (2, 3)
    lost = torch.tensor([1.0, 1.0, 0.0, inf, -tiny, 2.0], dtype=torch.float16)
    assert device.differing(ours, lost) == (1, None)
    assert device.differing(torch.tensor([1.0]), torch.tensor([-1.0]))[1] == 2 * 0x3F800000


def test_a_clock_of_events_counts_no_warm_calls(monkeypatch):
    now = [0.0]

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            self.at = now[0]

        def synchronize(self):
            assert self.at == now[0]

        def elapsed_time(self, end):
            return end.at - self.at  # milliseconds

    def run():
        now[0] += 4
    monkeypatch.setattr(torch.cuda, "Event", Event)
    assert device.timed(run, 5) == pytest.approx(4e-3)
    assert now[0] == 4 * (5 + device.WARM)


@without_cuda
@pytest.mark.parametrize("main, arguments", [(peers.main, []), (loading.main, ["--in", "."])])
def test_without_a_device_nothing_is_measured(main, arguments, capsys):
    assert main(arguments) == 5
    assert "no CUDA device" in capsys.readouterr().err


@pytest.mark.parametrize("main, arguments", [(peers.main, SMALL),
                                             (loading.main, ["--in", ".", "--device", "cpu"])])
def test_a_document_without_lines_for_the_table_is_refused_before_all_work(main, arguments,
                                                                           tmp_path):
    document = tmp_path / "page.md"
    document.write_text("<!-- tables: cells -->\n<!-- end of tables -->\n")
    with pytest.raises(SystemExit, match="no lines '<!-- tables: "):
        main([*arguments, "--into", str(document)])


@pytest.fixture
def small(monkeypatch):
    """Six weights in three files, and processes that run here: their commands are those of
    loading.py."""
    monkeypatch.setattr(generated, "ROWS", 256)
    monkeypatch.setattr(generated, "COLUMNS", 512)
    commands = []

    def run(command, **_):
        assert command[:2] == [sys.executable, loading.__file__]
        commands.append(command)
        with redirect_stdout(io.StringIO()) as out:
            code = loading.main(command[2:])
        return types.SimpleNamespace(returncode=code, stdout=out.getvalue())
    monkeypatch.setattr(subprocess, "run", run)
    return commands


def arguments_of(scheme, tmp_path, monkeypatch, *more):
    one = sum(array.nbytes for _, _, array in
              generated.SCHEMES[scheme][0](generated.np.random.default_rng(1), "w"))
    monkeypatch.setattr(generated, "GIB", 2 * one)
    return ["--in", str(tmp_path), "--device", "cpu", "--gib", "3", "--scheme", scheme,
            "--rounds", "2", "--threads", "1", "--json", str(tmp_path / "report.json"), *more]


@pytest.mark.parametrize("scheme", loading.DENSE)
def test_a_checkpoint_is_loaded_in_each_way(scheme, small, tmp_path, monkeypatch):
    document = tmp_path / "page.md"
    document.write_text("a\n<!-- tables: loading -->\nold\n<!-- end of tables -->\nb\n")
    monkeypatch.setattr(memory, "available", lambda: 1 << 40)
    assert loading.main([*arguments_of(scheme, tmp_path, monkeypatch, "--share", "0"), "--into",
                         str(document)]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["bits"] == {"weights": 6, "unequal": 0}
    assert [row["way"] for row in report["ways"]] == loading.ways_of("cpu") * 2
    assert len(small) == 11 and all(row["seconds"] > 0 for row in report["ways"])
    text = document.read_text()
    assert text.startswith("a\n") and text.endswith("<!-- end of tables -->\nb\n")
    assert "old" not in text and "All 6 weights have equal bits" in text
    assert not list(tmp_path.glob("*/model")), "the checkpoint is removed"


def test_other_bits_and_a_small_share_are_failures(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(memory, "available", lambda: 1 << 40)
    assert loading.main(arguments_of("fp8", tmp_path, monkeypatch, "--share", "1e9")) == 1
    assert "1000000000.0 is wanted; 0 weights differ" in capsys.readouterr().err
    end, dense = loading.DENSE["fp8"]
    monkeypatch.setitem(loading.DENSE, "fp8", (end, lambda *of: -dense(*of)))
    assert loading.main(arguments_of("fp8", tmp_path, monkeypatch, "--share", "0")) == 1
    assert "6 of 6 weights differ" in capsys.readouterr().out


def test_shares_are_those_of_the_slower_of_reading_and_copying():
    seconds = {"reading": (1, 9, 2), "copying": (3, 4, 5), "ring": (4, 5, 6), "dequant": (5, 5, 5),
               "torch": (8, 8, 9)}
    ways = [{"way": way, "seconds": s, "host": 0, "device": 0}
            for way, all_of in seconds.items() for s in all_of]
    shares = loading.medians({"ways": ways})[1]
    assert shares == {"ring": 4 / 5, "dequant": 4 / 5, "torch": 4 / 8}
    table = loading.table({"ways": ways, "device": "NONE", "scheme": "fp8", "bytes": 10**10,
                           "threads": 1, "rounds": 3, "bits": {"weights": 6, "unequal": 0}})
    assert ("| both through dequant's buffers, without kernels | 5.00 | 2.00 | 0.80 | 0 | 0 |"
            in table.splitlines())


def test_a_ring_of_another_size_is_that_of_all_processes(small, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1 << 40)
    device_load = loading._device_load
    monkeypatch.setattr(device_load, "SLOTS", device_load.SLOTS)
    monkeypatch.setattr(device_load, "SLOT_BYTES", device_load.SLOT_BYTES)
    monkeypatch.setattr(device_load, "SIDE_BY_SIDE", device_load.SIDE_BY_SIDE)
    assert loading.main(arguments_of("fp8", tmp_path, monkeypatch, "--share", "0", "--rounds", "1",
                                     "--slots", "3", "--slot-kib", "512", "--tensors", "4")) == 0
    assert (device_load.SLOTS, device_load.SLOT_BYTES) == (3, 512 << 10)
    assert device_load.SIDE_BY_SIDE == 4
    given = ["--slots", "3", "--slot-kib", "512", "--tensors", "4"]
    assert all(command[-6:] == given for command in small)
    for option in ("--slots", "--slot-kib", "--tensors"):  # loading would wait for ever
        with pytest.raises(SystemExit, match="2"):
            loading.main(["--in", str(tmp_path), option, "0"])


def test_a_checkpoint_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 50 << 30)
    assert memory.missing("cpu", 16, 2.0) == ""
    assert "--gib 20: 60.0 GiB of memory" in memory.missing("cpu", 20, 2.0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (47 << 30, 80 << 30))
    assert memory.missing("cuda", 20, 2.0) == ""
    assert "86.0 GiB are needed on the device, and 47.0 are free" in \
        memory.missing("cuda", 19, 4.0)
    assert "60.0 GiB of memory" in memory.missing("cuda", 60, 2.0)


def test_peaks_are_seen_within_the_block():
    with memory.Peaks("cpu") as peaks:
        kept = torch.ones(16 << 20)  # of 4 bytes
        del kept
        again = torch.ones(8 << 20)
    assert peaks.host > again.nbytes * 0.9 and peaks.device == 0
