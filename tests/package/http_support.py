"""A server of HTTP that answers as broken ones do, and checkpoints whose floats depend on the files
beside them."""

import contextlib
import email.utils
import http.server
import json
import threading
import time

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file


class Server:
    """files: path -> bytes. The other members say how it answers."""

    def __init__(self):
        self.files = {}
        self.status = {}  # path -> what is answered in place of the file
        self.types = {}
        self.ranges = True
        self.shift = 0  # answers other bytes than those asked for, and says so
        self.header = "ETag"  # which says that a file changed
        self.versions = {}
        self.delay = 0  # seconds before 64 KiB
        self.sent = 0  # bytes of files
        self.requests = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self):
                owner.answer(self, False)

            def do_GET(self):
                owner.answer(self, True)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def put(self, local, folder=""):
        for file in local.rglob("*") if local.is_dir() else [local]:
            if file.is_file():
                name = file.relative_to(local) if local.is_dir() else file.name
                self.files[f"{folder}/{name}"] = file.read_bytes()

    def answer(self, handler, with_body):
        path = handler.path.partition("?")[0]
        self.requests.append((handler.command, handler.path, handler.headers.get("Range")))
        status = self.status.get(path, 200 if path in self.files else 404)
        data, headers = b"", {}
        if status == 200:
            data = self.files[path]
            status, data, headers = self._range(handler.headers.get("Range"), data)
            version = self.versions.get(path, 1)
            headers[self.header] = (email.utils.formatdate(1e9 + version, usegmt=True)
                                    if self.header == "Last-Modified" else f'"{version}"')
        handler.send_response(status)
        headers |= {"Content-Length": str(len(data)),
                    "Content-Type": self.types.get(path, "application/octet-stream")}
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        with contextlib.suppress(ConnectionError):
            for at in range(0, len(data) if with_body else 0, 1 << 16):
                time.sleep(self.delay)
                handler.wfile.write(data[at:at + (1 << 16)])
                self.sent += len(data[at:at + (1 << 16)])

    def _range(self, asked, data):
        if not asked or not self.ranges:
            return 200, data, {}
        begin, end = (int(text) for text in asked.removeprefix("bytes=").split("-"))
        if self.shift <= begin and end - begin > 1000:
            begin, end = begin - self.shift, end - self.shift
        return 206, data[begin:end + 1], {"Content-Range": f"bytes {begin}-{end}/{len(data)}"}


def make_modelopt(folder):
    """Its floats are bfloat16, as config.json says; without that they would be float32."""
    folder.mkdir()
    rng = np.random.default_rng(7)
    codes = rng.standard_normal((64, 64)).astype(ml_dtypes.float8_e4m3fn)
    save_file({"layer.weight": codes, "layer.weight_scale": np.array(0.375, np.float32)},
              folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({
        "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}))
    return folder
