"""A real nginx in front of the server, with the lines of docs/operation.md."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.documents import ROOT, blocks
from tests.serving import PATIENCE

PROGRAM = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
PAGE = ROOT / "docs" / "operation.md"
CONFIG = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {of_http}
    server {{
        listen 127.0.0.1:{port};
        {of_server}
    }}
}}
"""


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def documented(upstream: int) -> tuple[str, str]:
    """The lines on the page for the parts `http` and `server`, with the port of the server behind."""
    (lines,) = [block.body for block in blocks(PAGE.read_text(encoding="utf-8")) if block.language == "nginx"]
    assert "127.0.0.1:8501" in lines
    of_http, _, of_server = lines.replace("127.0.0.1:8501", f"127.0.0.1:{upstream}").partition("\n\n")
    return of_http, of_server


@contextmanager
def nginx(folder: Path, port: int, upstream: int) -> Iterator[Path]:
    """Run it; yields its log of errors."""
    assert PROGRAM is not None
    of_http, of_server = documented(upstream)
    config = folder / "nginx.conf"
    config.write_text(CONFIG.format(folder=folder, port=port, of_http=of_http, of_server=of_server))
    log = folder / "error.log"
    log.touch()
    with subprocess.Popen(
        [PROGRAM, "-p", str(folder), "-c", str(config)], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            end = time.monotonic() + PATIENCE
            while True:
                assert process.poll() is None and time.monotonic() < end, log.read_text()
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield log
        finally:
            process.terminate()
