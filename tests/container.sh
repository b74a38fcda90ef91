#!/usr/bin/env bash
# Builds the image and runs it as it should be run: a file system that cannot be written, no capability, no network.
# ENGINE is the program with its options (docker, podman, …), BUILD and RUN are more options for it; IMAGE is an image
# that exists already, which then is not built. Podman keeps the HEALTHCHECK with BUILD="--format docker" only.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
name=austerity-check-$$
read -ra engine <<< "${ENGINE:-docker}"
read -ra build <<< "${BUILD:-}"
read -ra run <<< "${RUN:-}"
trap '"${engine[@]}" rm --force "$name" > /dev/null 2>&1 || true' EXIT

step() { printf '== %s\n' "$*"; }
inside() { "${engine[@]}" exec "$name" "$@"; }
fail() {
    "${engine[@]}" logs "$name" >&2 || true
    echo "$*" >&2
    exit 1
}

if [ -z "${IMAGE:-}" ]; then
    step "build"
    IMAGE=austerity-check
    "${engine[@]}" build "${build[@]}" --tag "$IMAGE" "$root"
fi

step "run: read-only, no capabilities, no network"
"${engine[@]}" run --detach --name "$name" --read-only --tmpfs /tmp --network none --cap-drop ALL \
    --security-opt no-new-privileges "${run[@]}" "$IMAGE"

step "health, asked for as the HEALTHCHECK does"
healthy="from urllib.request import urlopen; assert urlopen('http://127.0.0.1:8501/_austerity/health', timeout=4).read() == b'ok'"
for _ in $(seq 60); do
    if inside python -c "$healthy" 2> /dev/null; then break; fi
    sleep 1
done
inside python -c "$healthy" || fail "the server is not healthy"
inside python -c "from urllib.request import urlopen; assert b'<title>' in urlopen('http://127.0.0.1:8501/').read()" ||
    fail "there is no page"

step "who it is, and what it can do"
[ "$(inside id -u)" = 1000 ] || fail "it runs as user $(inside id -u)"
for place in / /home/austerity; do
    if inside touch "$place/written" 2> /dev/null; then fail "$place can be written"; fi
done
inside grep -q '^CapEff:[[:space:]]*0*$' /proc/1/status || fail "it has capabilities"

step "the kernels are compiled already, for the type of processor that has built the image"
inside python -W error -c "
from designer import Design, characteristics
from designer.engine._walk_kernels import walk

characteristics(Design(12_214, 500, 0.05), [0.0, 1.0])
assert sum(walk.stats.cache_hits.values()) == 1, walk.stats
assert not walk.stats.cache_misses, walk.stats" || fail "kernels are compiled anew; right only if IMAGE was built on another type of processor"

step "it stops when asked to"
"${engine[@]}" stop --time 20 "$name" > /dev/null
[ "$("${engine[@]}" inspect --format '{{.State.ExitCode}}' "$name")" = 0 ] || fail "it did not stop by itself"
echo "all checks passed"
