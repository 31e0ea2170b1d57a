"""Recipes of docs/cluster.md that need no engine, or one that is small; tests/cluster has the
others."""

import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest

from cluster_support import OPEN_MPI, OUTPUT, Place, recipe
from dequant._ray_report import covered


@pytest.fixture(name="place")
def place(tmp_path):
    return Place(tmp_path, pathlib.Path(sysconfig.get_path("scripts")) / "dequant")


def test_concurrent_futures(place):
    place.save("futures.py")
    done = place.run("python", "futures.py")
    assert len(done.stdout.splitlines()) == 9 and "complete=True, missing={}" in done.stdout
    place.check()


def test_kubernetes_variables_by_hand(place):
    text = recipe("job.yaml")
    command = re.search(r"command: \[(.*?)\]", text, re.DOTALL)[1].replace("\n", " ").split(",")
    count = re.search(r'name: JOB_COMPLETION_COUNT, value: "(\d+)"', text)[1]
    assert re.search(r"completions: (\d+)", text)[1] == count
    for index in range(int(count)):
        if index == 3:  # a pod that has not run yet
            done = place.run("dequant", "finalize", OUTPUT, check=False)
            assert done.returncode == 1 and "tasks are missing" in done.stdout
        place.run(*(word.strip() for word in command), JOB_COMPLETION_INDEX=str(index),
                  JOB_COMPLETION_COUNT=count)
    place.run("dequant", "finalize", OUTPUT)
    place.check()


def test_ray_without_the_package_ray():
    code = "import sys; sys.modules['ray'] = None; import dequant.ray"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "ImportError: dequant.ray needs the package ray: pip install 'ray>=2.9'\n")


def test_seconds_of_a_node_are_those_in_which_a_task_ran():
    assert covered([]) == 0
    assert covered([(5, 7), (1, 2), (1.5, 3), (6, 6.5)]) == 4


def test_open_mpi(place):
    if shutil.which("mpirun") is None:
        pytest.skip("NO MPIRUN: its recipe is not run")
    place.shell("openmpi", **OPEN_MPI)
    place.check()
