"""No outbound request, no secrets, and a container that does not run as root."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

PROGRAM = """
import socket

asked = []

def outside(address):
    return isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost")

def watch(name, original):
    def watched(*args, **kwargs):
        if any(map(outside, args)) or (name == "getaddrinfo" and outside(args)):
            asked.append((name, args[-1]))  # a job that fails is told on its page, so that raising is not enough
            raise ConnectionRefusedError(f"asked for {name}{args}")
        return original(*args, **kwargs)
    return watched

for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, watch(name, getattr(socket.socket, name)))
socket.getaddrinfo = watch("getaddrinfo", socket.getaddrinfo)

from app.dashboard.serve import server

server.application(server.SCRIPT, (), lambda: None)
server.warm()

from app.dashboard.pages import further
from tests.app.dashboard.driving import everything, page
from tests.test_security import PAGES

few = {"source": "stationary", "trial_n": "3000", "acceptance": "0.5", "pairs": "20"}
for name in PAGES:
    for topic in [{"topic": entry.key} for entry in further.ENTRIES] if name == "further" else [{}]:
        everything(page(name, **topic, **few))  # as it is once its jobs have ended; fails if an exception is shown
        print(name, *topic.values())
assert not asked, asked
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
except ConnectionRefusedError:
    print("quiet, and watched" if asked else "not watched")
"""
# what app/dashboard/serve/main.py names; read from its text, since only a server can run it
SCRIPT = (ROOT / "app" / "dashboard" / "serve" / "main.py").read_text(encoding="utf-8")
NAMED = re.findall(r"st\.Page\((\w+)\.show,", SCRIPT)
PAGES = list(dict.fromkeys(NAMED))  # a page may have an old address, too


def test_no_page_of_the_dashboard_asks_anybody_outside():
    """Not the server either, as it starts; every page and every topic of Go further, with the jobs that they start."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=ROOT, timeout=300)
    said = done.stdout.strip().splitlines()
    assert said[-1:] == ["quiet, and watched"], done.stderr[-2000:]
    assert len(NAMED) == SCRIPT.count("st.Page(") > 1
    assert list(dict.fromkeys(line.split()[0] for line in said[:-1])) == PAGES
    assert len(said) > len(PAGES) + 4  # the topics


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
