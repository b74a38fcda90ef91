#!/usr/bin/env bash
# The steps of the Dockerfile in a clean virtual environment, for where there is no container engine:
# wheel, installation, warm kernels, server, health check, and the server again with a cache that cannot be written.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2> /dev/null || true
    chmod -R u+w "$work" 2> /dev/null || true
    rm -rf "$work"
}
trap finish EXIT

step() { printf '== %s\n' "$*"; }

step "build stage: the wheel from what the Dockerfile copies"
mkdir "$work/src"
for name in pyproject.toml README.md LICENSE designer samplers app austerity; do cp -r "$root/$name" "$work/src/"; done
find "$work/src" -name __pycache__ -prune -exec rm -rf {} +
"${PYTHON:-python3}" -m venv "$work/venv"
(cd "$work/src" && "$work/venv/bin/pip" wheel --quiet --no-cache-dir --no-deps --wheel-dir "$work/wheels" .)

step "final stage: install it"
"$work/venv/bin/pip" install --quiet --no-cache-dir "$work"/wheels/*.whl
export NUMBA_CACHE_DIR="$work/numba" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME="$work"
cd "$work"

step "compile the kernels, check the engine"
"$work/venv/bin/austerity" selfcheck
"$work/venv/bin/python" -c "from app.dashboard.serve.server import warm; warm()"

port=$("$work/venv/bin/python" -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])")
healthy="from urllib.request import urlopen; assert urlopen('http://127.0.0.1:$port/_austerity/health', timeout=4).read() == b'ok'"

serve() { # serve it, and ask for its health as the HEALTHCHECK does until it answers or its start period is over
    "$work/venv/bin/austerity" app --host 0.0.0.0 --port "$port" --no-browser 2> "$work/said" &
    server=$!
    for _ in $(seq 120); do
        if "$work/venv/bin/python" -c "$healthy" 2> /dev/null; then
            kill "$server" && wait "$server" || true
            server=
            return
        fi
        kill -0 "$server" || break
        sleep 1
    done
    cat "$work/said"
    echo "the server is not healthy" >&2
    exit 1
}

step "serve, health check"
serve

step "the same with a read-only cache: no kernel may be compiled anew"
chmod -R a-w "$NUMBA_CACHE_DIR"
as_user=(env)
if [ "$(id -u)" = 0 ]; then # root writes anywhere; the container does not run as root
    as_user=(setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-all)
fi
"${as_user[@]}" env HOME=/nonexistent "$work/venv/bin/python" -W error - << 'PYTHON'
from designer import Design, characteristics
from designer.engine._walk_kernels import walk

characteristics(Design(12_214, 500, 0.05), [0.0, 1.0])
assert sum(walk.stats.cache_hits.values()) == 1, walk.stats
assert not walk.stats.cache_misses, walk.stats
PYTHON
echo "all steps passed"
