"""The recipes of docs/cluster.md on their engines."""

import json
import re
import shutil

import pytest

import slurm
from cluster_support import OPEN_MPI, OUTPUT, PAGE

REPORTS = r"model-0000\d-of-00008.safetensors \d+ [\d.e-]+"


def test_torchrun(place):
    pytest.importorskip("torch")
    place.shell("torchrun")
    place.check()


def test_torchrun_that_srun_starts_on_each_of_two_nodes(place):
    pytest.importorskip("torch")
    outer = {"SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}
    with pytest.raises(AssertionError, match="srun says share 1/2, and torchrun says ./4"):
        place.shell("torchrun", **outer)
    place.shell("nested", **outer)
    place.check()


def test_dask(place):
    pytest.importorskip("dask.distributed")
    place.save("dask_client.py")
    done = place.run("python", "dask_client.py")
    assert len(re.findall(REPORTS, done.stdout)) == 8 and "complete=True" in done.stdout
    place.check()


def test_mpi4py(place):
    pytest.importorskip("mpi4py")
    place.save("mpi4py_pool.py")
    command = re.search(r"run by `(mpirun .*? mpi4py_pool\.py)`", PAGE.read_text())[1]
    done = place.run(*command.split(), **OPEN_MPI)
    assert len(re.findall(REPORTS, done.stdout)) == 8 and "complete=True" in done.stdout
    place.check()


@pytest.fixture(name="ray_address")
def ray_cluster():
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster
    cluster = Cluster(initialize_head=True, head_node_args={
        "num_cpus": 8, "memory": 16 << 30, "object_store_memory": 80 << 20})
    yield cluster.address
    cluster.shutdown()


def test_ray_command(place, ray_address):
    done = place.shell("ray", RAY_ADDRESS=ray_address)
    assert "8 tasks, 0 found done" in done.stdout and "is complete" in done.stdout
    place.check()
    command = ["python", "-m", "dequant.ray", "convert", "DeepSeek-V3", "-o"]
    done = place.run(*command, OUTPUT, check=False, RAY_ADDRESS=ray_address)
    assert done.returncode == 5 and "exists and is not empty" in done.stderr
    done = place.run(*command, "more", "--json", "--task-size", "100k", "--dtype", "auto",
                     RAY_ADDRESS=ray_address)
    report = json.loads(done.stdout)
    assert report["tasks"] > 8 and report["nodes"][0]["bytes"] == report["bytes"]
    assert report["output"] == str(place.folder / "more")


@pytest.fixture(scope="module", name="scheduler")
def started(tmp_path_factory):
    missing = [p for p in slurm.PROGRAMS if slurm.path_of(p) is None]
    assert not missing, f"install slurm-wlm and munge: {missing}"
    running = slurm.Slurm(tmp_path_factory.mktemp("slurm"))
    yield running
    running.stop()


def test_slurm_array(place, scheduler):
    place.save("convert.sbatch")
    place.shell("slurm_array", **scheduler.environment)
    assert "is complete" in (place.folder / "finalize.log").read_text()
    logs = [(place.folder / f"dequant-{i}.log").read_text() for i in range(8)]
    assert all("1 of 8 tasks done" in log for log in logs), logs
    place.check()


def test_slurm_srun(place, scheduler):
    done = place.shell("slurm_srun", **scheduler.environment)
    assert done.stdout.count("of 8 tasks done") == 2 and "is complete" in done.stdout
    place.check()


def test_a_job_that_is_killed_is_continued_by_the_same_array(place, scheduler):
    place.save("convert.sbatch")
    for index in (2, 5):  # these have run before
        place.run("dequant", "convert", "DeepSeek-V3", "-o", OUTPUT, "--dtype", "bfloat16",
                  "--shards", "as-input", "--shard", f"{index}/8")
    shutil.rmtree(place.folder / "expected")
    place.shell("slurm_array", **scheduler.environment)
    assert "1 found done" in (place.folder / "dequant-5.log").read_text()
    place.check()
