"""Models behind URLs of HTTP, of a server that answers as broken ones do."""

import errno

import http_support
import numpy as np
import pytest

import dequant
from remote_memory import fs, made, temporary  # noqa: F401

aiohttp = pytest.importorskip("aiohttp", reason="NO AIOHTTP: HTTP is not tested")

BESIDE = ["config.json", "hf_quant_config.json", "quanto_qmap.json"]


@pytest.fixture
def server(temporary):
    server = http_support.Server()
    yield server
    server.close()


@pytest.fixture
def modelopt(server, tmp_path):
    """The URL of a file whose config.json changes its floats, and these floats."""
    folder = http_support.make_modelopt(tmp_path / "m")
    server.put(folder, "/m")
    dequant.convert(folder / "model.safetensors", tmp_path / "local.safetensors")
    return f"{server.url}/m/model.safetensors", (tmp_path / "local.safetensors").read_bytes()


@pytest.fixture
def gguf(server, made):
    model, dense, _ = made("gguf")
    server.put(model)
    return f"{server.url}/model.gguf", dense.read_bytes()


def test_a_file_has_the_floats_of_a_local_one(modelopt, gguf, tmp_path):
    for (url, expected), name in ((modelopt, "o.safetensors"), (gguf, "o.gguf")):
        dequant.convert(url, tmp_path / name)
        assert (tmp_path / name).read_bytes() == expected


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_an_error_of_the_server_was_a_file_that_is_absent(server, modelopt, tmp_path, name, status):
    server.status[f"/m/{name}"] = status
    with pytest.raises(OSError, match=f"{modelopt[0]}: it is not known whether there is a {name}: "
                                      f"HTTP {status}") as caught:
        dequant.convert(modelopt[0], tmp_path / "o.safetensors")
    assert not isinstance(caught.value, FileNotFoundError)
    assert not (tmp_path / "o.safetensors").exists()


def test_a_file_that_is_gone_is_absent(server, modelopt, tmp_path):
    server.status["/m/hf_quant_config.json"] = 410
    dequant.convert(modelopt[0], tmp_path / "o.safetensors")
    assert (tmp_path / "o.safetensors").read_bytes() == modelopt[1]


@pytest.mark.parametrize(("status", "kind", "text"), [
    (401, PermissionError, "HTTP 401 Unauthorized"), (503, OSError, "HTTP 503 Service Unavail"),
    (404, FileNotFoundError, "HTTP 404 Not Found")])
def test_the_model_itself_has_the_reason(server, modelopt, tmp_path, status, kind, text):
    server.status["/m/model.safetensors"] = status
    with pytest.raises(kind, match=f"{modelopt[0]}: {text}"):
        dequant.convert(modelopt[0], tmp_path / "o.safetensors")


def test_a_refused_connection_was_a_file_that_is_absent(server, tmp_path):
    server.close()
    with pytest.raises(OSError, match=f"{server.url}/m.gguf: Connect call failed") as caught:
        dequant.convert(f"{server.url}/m.gguf", tmp_path / "o.gguf")
    assert not isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize("name", ["model.safetensors", "download", "a-00001-of-00002.gguf"])
def test_a_query_hid_the_files_beside_a_model(server, modelopt, tmp_path, name):
    server.files[f"/m/{name}"] = server.files["/m/model.safetensors"]
    with pytest.raises(dequant.UnsupportedError, match=f"/m/{name}: a URL with a query is that of"):
        dequant.convert(f"{server.url}/m/{name}?download=true", tmp_path / "o.safetensors")


def test_a_name_without_an_ending_hid_the_files_beside_a_model(server, modelopt, tmp_path):
    server.files["/m/download"] = server.files["/m/model.safetensors"]
    dequant.convert(f"{server.url}/m/download", tmp_path / "o.safetensors")
    assert (tmp_path / "o.safetensors").read_bytes() == modelopt[1]


def test_a_signed_url_was_stored_and_printed_and_too_long(server, gguf, tmp_path):
    signed = f"{gguf[0]}?Signature={'0123456789abcdef' * 32}/"
    tasks = dequant.plan(signed, tmp_path / "o.gguf")
    assert "Signature" not in repr(tasks[0]) + repr(tasks)
    dequant.run_task(tasks[0])
    assert all(b"Signature" not in file.read_bytes()
               for file in (tmp_path / "o.gguf.dequant-tasks").glob("*.json"))
    with pytest.raises(ValueError, match=f"{gguf[0]}: the query of the URL .* is not stored"):
        dequant.finalize(tmp_path / "o.gguf")
    assert dequant.finalize(tmp_path / "o.gguf", input=signed).complete
    assert (tmp_path / "o.gguf").read_bytes() == gguf[1]
    report = dequant.convert(signed, tmp_path / "again.gguf")
    assert "Signature" not in str(report.to_dict())
    assert all(path.endswith("/") for _, path, _ in server.requests)
    server.status["/model.gguf"] = 403
    with pytest.raises(PermissionError, match="HTTP 403") as caught:
        dequant.convert(signed, tmp_path / "third.gguf")
    assert "Signature" not in f"{caught.value} {caught.value.__cause__}"


@pytest.mark.parametrize("url", ["https://user:secret@host/m.gguf", "ftp://u:secret@host/m.gguf",
                                 "simplecache::https://user:secret@host/m.gguf"])
def test_a_password_in_a_url_was_stored(tmp_path, url):
    with pytest.raises(ValueError, match="://host/m.gguf: a password in a URL") as caught:
        dequant.plan(url, tmp_path / "o.gguf")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("header", ["Last-Modified", "ETag", "Content-MD5", "Digest"])
def test_a_file_that_was_replaced_by_one_of_its_size_was_mixed_in(server, made, tmp_path, header):
    model, _, options = made("gguf in safetensors")
    server.put(model)
    server.header = header
    tasks = dequant.plan(f"{server.url}/model.gguf", tmp_path / "out", **options)
    dequant.run_task(tasks[0])
    server.files["/model.gguf"] = server.files["/model.gguf"][:-1] + b"?"
    server.versions["/model.gguf"] = 2
    with pytest.raises(ValueError, match="model.gguf changed since"):
        dequant.run_task(tasks[1])


def test_the_answer_to_another_range_was_taken_for_the_data(server, modelopt, tmp_path):
    server.shift = 64
    with pytest.raises(OSError, match=r"model\.safetensors: .* with Content-Range 'bytes "):
        dequant.convert(modelopt[0], tmp_path / "o.safetensors")


def test_a_server_without_ranges_sent_the_whole_file(server, temporary, tmp_path):
    server.ranges = False
    server.files["/m.safetensors"] = bytes(64 << 20)
    with pytest.raises(OSError, match="m.safetensors: .* 0 to 8 with the whole file .*no ranges"):
        dequant.convert(f"{server.url}/m.safetensors", tmp_path / "o.safetensors")
    assert server.sent < 32 << 20


def test_a_slow_link_had_five_minutes_in_all(server, gguf, tmp_path, monkeypatch):
    """The limit of aiohttp, which is a second here."""
    monkeypatch.setattr(aiohttp.client, "DEFAULT_TIMEOUT", aiohttp.ClientTimeout(total=1))
    server.delay = 0.1
    dequant.convert(gguf[0], tmp_path / "o.gguf", storage_options={"skip_instance_cache": True})
    assert (tmp_path / "o.gguf").read_bytes() == gguf[1]


def test_a_silent_server_was_an_error_without_words(server, gguf, tmp_path, monkeypatch):
    monkeypatch.setattr(dequant._http, "_SILENCE", 0.2)
    server.delay = 2
    with pytest.raises(TimeoutError, match="model.gguf: .*imeout") as caught:
        dequant.convert(gguf[0], tmp_path / "o.gguf")
    assert caught.value.errno == errno.ETIMEDOUT


@pytest.mark.parametrize(("name", "kind", "text"), [
    ("m/", "text/html", "HTTP has no folders"), ("m", "text/html", "an HTML page, and no model"),
    ("m/model.safetensors.index.json", "application/json", "one of its .safetensors files")])
def test_folders_of_http_are_refused(server, tmp_path, name, kind, text):
    server.files[f"/{name}"] = b"<html></html>"
    server.types[f"/{name}"] = kind
    with pytest.raises(ValueError, match=text):
        dequant.convert(f"{server.url}/{name}", tmp_path / "out")


def test_http_is_no_place_for_an_output(server, gguf):
    with pytest.raises(dequant.UnsupportedError, match="o.gguf: outputs are not written by HTTP"):
        dequant.convert(gguf[0], f"{server.url}/o.gguf")


def test_headers_of_the_caller_are_sent(server, gguf, tmp_path):
    """Accept-Encoding would make a range one of compressed bytes."""
    dequant.convert(gguf[0], tmp_path / "o.gguf", storage_options={
        "input": {"headers": {"Accept-Encoding": "gzip", "X-Token": "t"}}})
    assert np.array_equal(np.fromfile(tmp_path / "o.gguf", "u1"), np.frombuffer(gguf[1], "u1"))
