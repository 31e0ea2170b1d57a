"""Folders behind URLs: what is in them."""

import pytest

import dequant
from http_support import make_modelopt
from remote_support import contents


@pytest.fixture
def linked(tmp_path):
    """A checkpoint of links into a folder beside it, as in the cache of Hugging Face."""
    model = make_modelopt(tmp_path / "blobs")
    (model / "tokenizer.json").write_text("{}")
    (tmp_path / "snapshot").mkdir()
    for file in model.iterdir():
        (tmp_path / "snapshot" / file.name).symlink_to(f"../blobs/{file.name}")
    return tmp_path / "snapshot"


@pytest.mark.parametrize("protocol", ["file", "local"])
def test_linked_files_of_a_url_of_a_local_folder_were_left_out(linked, tmp_path, protocol):
    dequant.convert(linked, tmp_path / "expected")
    expected = contents(tmp_path / "expected")
    assert {"config.json", "tokenizer.json"} < set(expected)
    url = f"{protocol}://{linked}"
    dequant.convert(url, tmp_path / "o")
    assert contents(tmp_path / "o") == expected
    dequant.convert(url, f"file://{tmp_path}/p")
    assert contents(tmp_path / "p") == expected
    tasks = dequant.plan(url, tmp_path / "q")
    dequant.run_task(tasks[0])
    assert dequant.finalize(tmp_path / "q", input=url).complete
    assert contents(tmp_path / "q") == expected
