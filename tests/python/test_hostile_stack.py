"""A limit of the stack: it is raised where that is allowed, and else the command says so."""

import resource
import subprocess

import pytest

from hostile_support import CLI, LIMITED
from support import EXAMPLES

pytestmark = pytest.mark.skipif(not LIMITED, reason="SANITIZED: frames are larger")

KIB = 1 << 10


def inspect(soft, hard):
    return subprocess.run([CLI, "inspect", EXAMPLES / "digits_qdq_int4.onnx"], text=True,
                          capture_output=True, timeout=60, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK,
                                                                (soft * KIB, hard * KIB)))


@pytest.mark.parametrize("size", [64, 128, 512, 575])
def test_a_small_stack_ended_the_process_by_a_signal(size):
    done = inspect(size, size)
    assert done.returncode == 6 and done.stdout == ""
    assert done.stderr == (f"dequant: error: the stack is limited to {size} KiB, and dequant needs "
                           "576 (ulimit -s)\n")


@pytest.mark.parametrize("soft, hard", [(64, 576), (128, 8192), (576, 576)])
def test_a_limit_that_may_be_raised_is(soft, hard):
    done = inspect(soft, hard)
    assert done.returncode == 0 and "2 dequantizations" in done.stdout and not done.stderr
