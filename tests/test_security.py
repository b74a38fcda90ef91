"""No outbound request, no secrets, and a container that does not run as root."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

PROGRAM = """
import socket

def outside(address):
    return isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost")

def refuse(name, original):
    def asked(*args, **kwargs):
        if any(map(outside, args)) or (name == "getaddrinfo" and outside(args)):
            raise SystemExit(f"asked for {name}{args}")
        return original(*args, **kwargs)
    return asked

for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, refuse(name, getattr(socket.socket, name)))
socket.getaddrinfo = refuse("getaddrinfo", socket.getaddrinfo)

from pathlib import Path
from streamlit.testing.v1 import AppTest
from app import server

server.application(server.SCRIPT, (), lambda: None)
server.warm()
page = AppTest.from_string("from app.views import explore; explore.show()", default_timeout=120).run()
assert not page.exception, page.exception
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
except SystemExit:
    print("quiet, and watched")
"""


def test_the_dashboard_asks_nobody_outside():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.stdout.strip() == "quiet, and watched", done.stderr[-2000:]


def test_there_are_no_secrets():
    keys = r"-----BEGIN [A-Z ]*PRIVATE KEY|AKIA[0-9A-Z]{16}|gh[pousr]_\w{36}|xox[abp]-\w{10}"
    shape = re.compile(keys + r"|(?i:password|secret|token)\s*=\s*[\"']\w{8}")
    kinds = {".py", ".toml", ".md", ".sh", ".json", ".csv", ".html", ""}
    folders = ("app", "designer", "samplers", "tests", "benchmarks", "docs", "examples")
    files = [path for name in folders for path in (ROOT / name).rglob("*") if path.is_file() and path.suffix in kinds]
    files += [ROOT / name for name in ("pyproject.toml", "Makefile", "Dockerfile", "README.md")]
    assert len(files) > 200
    found = [path for path in files if path != Path(__file__) and shape.search(path.read_text("utf-8", "replace"))]
    assert found == []


def test_the_container_is_unprivileged_and_checked():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    last = max(k for k, line in enumerate(lines) if line.startswith("FROM"))
    final = [line.split()[0] for line in lines[last:] if line[:1].isalpha()]
    assert final.index("USER") < final.index("ENTRYPOINT")
    assert "HEALTHCHECK" in final
    assert lines[last:].count("USER austerity") == 1
