"""Models in an object store: a server of the S3 protocol, whose connections break."""

import concurrent.futures
import contextlib
import itertools
import multiprocessing
import os
import pickle
import random
import select
import socket
import threading

import pytest

import dequant
from remote_support import MODELS, contents, make_gguf, remote_contents, upload

pytestmark = pytest.mark.slow


class BreakingProxy:
    """Passes connections on to a server, and cuts some of them after some bytes."""

    def __init__(self, port, seed, chance):
        self.random = random.Random(seed)
        self.chance = chance
        self.cut = 0
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                breaks = self.random.random() < self.chance
                budget = self.random.choice([0, 300, 5_000, 200_000]) if breaks else None
                threading.Thread(target=self._pass, args=(client, budget), daemon=True).start()

    def _pass(self, client, budget):
        with client, socket.create_connection(("127.0.0.1", self._to)) as server:
            passed = 0
            with contextlib.suppress(OSError):
                while True:
                    for one in select.select([client, server], [], [])[0]:
                        data = one.recv(1 << 16)
                        if not data:
                            return
                        if budget is not None and passed + len(data) > budget:
                            self.cut += 1
                            one_end = client.sendall if one is server else server.sendall
                            one_end(data[:max(budget - passed, 0)])
                            return
                        passed += len(data)
                        (server if one is client else client).sendall(data)

    def close(self):
        self._listener.close()


@pytest.fixture(scope="module")
def port():
    moto = pytest.importorskip("moto.server", reason="NO MOTO: no server of the S3 protocol")
    pytest.importorskip("s3fs", reason="NO S3FS: the S3 protocol is not tested")
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield server.get_host_and_port()[1]
    server.stop()


def options(port):
    return {"key": "key", "secret": "secret", "endpoint_url": f"http://127.0.0.1:{port}",
            "config_kwargs": {"retries": {"max_attempts": 8, "mode": "standard"},
                              "connect_timeout": 10, "read_timeout": 20}}


@pytest.fixture
def s3(port):
    import s3fs
    fs = s3fs.S3FileSystem(**options(port), skip_instance_cache=True)
    for bucket in ("models", "results"):
        if fs.exists(bucket):
            fs.rm(bucket, recursive=True)
        fs.mkdir(bucket)
    fs.invalidate_cache()
    return fs


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    made = {}
    for kind, (maker, name, output, given) in MODELS.items():
        folder = tmp_path_factory.mktemp("models")
        made[kind] = maker(folder / name), folder / output, given
        dequant.convert(made[kind][0], folder / output, **given)
    return made


@pytest.mark.parametrize(("kind", "seed"), list(itertools.product(MODELS, range(10))))
def test_connections_that_break_change_no_byte(local, s3, port, kind, seed):
    model, dense, given = local[kind]
    upload(s3, model, f"s3://models/{model.name}")
    proxy = BreakingProxy(port, seed, 0.3)
    try:
        plan = dequant.plan(f"s3://models/{model.name}", f"s3://results/{dense.name}",
                            storage_options=options(proxy.port), **given)
        for task in plan:
            assert dequant.run_task(pickle.loads(pickle.dumps(task))).done
            s3.invalidate_cache()
            assert all(".dequant-tasks" in name for name in s3.find("results"))
        done = dequant.finalize(f"s3://results/{dense.name}", storage_options=options(proxy.port))
        assert done.complete
    finally:
        proxy.close()
    s3.invalidate_cache()
    assert proxy.cut > 0
    assert remote_contents(s3, f"s3://results/{dense.name}") == contents(dense)
    assert s3.ls("results", detail=False) == [f"results/{dense.name}"]


def test_a_large_file_is_written_in_parts(s3, port, tmp_path):
    model = make_gguf(tmp_path / "model.gguf", 40_000)
    dequant.convert(model, tmp_path / "float.gguf")
    assert os.path.getsize(tmp_path / "float.gguf") > 150 << 20
    dequant.convert(str(model), "s3://results/float.gguf",
                    storage_options={"output": options(port)})
    info = s3.info("s3://results/float.gguf")
    assert info["size"] == os.path.getsize(tmp_path / "float.gguf")
    assert s3.cat_file("s3://results/float.gguf") == (tmp_path / "float.gguf").read_bytes()
    assert not s3.list_multipart_uploads("results")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_tasks_run_in_processes_made_of_one_that_has_used_the_store(local, s3, port, method):
    model, dense, given = local["checkpoint"]
    upload(s3, model, "s3://models/fp8")
    plan = dequant.plan("s3://models/fp8", "s3://results/dense", storage_options=options(port),
                        **given)
    with concurrent.futures.ProcessPoolExecutor(
            2, mp_context=multiprocessing.get_context(method)) as pool:
        assert all(report.done for report in pool.map(dequant.run_task, plan, timeout=120))
    assert dequant.finalize("s3://results/dense", storage_options=options(port)).complete
    s3.invalidate_cache()
    assert remote_contents(s3, "s3://results/dense") == contents(dense)


def test_a_server_that_is_gone_is_an_error_and_leaves_nothing_visible(local, s3, port):
    model, dense, given = local["checkpoint"]
    upload(s3, model, "s3://models/fp8")
    tasks = dequant.plan("s3://models/fp8", "s3://results/dense", storage_options=options(port), **given)
    proxy = BreakingProxy(port, 1, 1.1)
    with pytest.raises(OSError):
        dequant.run_task(tasks[0], storage_options=options(proxy.port))
    proxy.close()
    s3.invalidate_cache()
    assert all(".dequant-tasks" in name for name in s3.find("results"))
    dequant.convert("s3://models/fp8", "s3://results/dense", storage_options=options(port), **given)
    s3.invalidate_cache()
    assert remote_contents(s3, "s3://results/dense") == contents(dense)
