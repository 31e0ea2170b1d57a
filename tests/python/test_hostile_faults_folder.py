"""The system fails where folders of checkpoints are read and written: what cannot be looked at is
not absent."""

import errno
import os

import pytest

import interrupted
from hostile_support import assert_error, listing, run
from interrupted import shim  # noqa: F401
from test_checkpoints_folder import fixture_folder, weight  # noqa: F401

pytestmark = interrupted.NEEDS
STATE = ".dequant-unfinished.json"


def environment(shim, **faults):
    return dict(os.environ, LD_PRELOAD=str(shim), FAULT_HIT=os.devnull,
                **{name: str(value) for name, value in faults.items()})


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
