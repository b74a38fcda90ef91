"""Chains on disk: exact round trips, kills at any moment, damage anywhere, full disks, two writers."""

import errno
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from designer.core.files import replacing
from samplers.runs import checksummed_file
from samplers.runs import store as store_module
from samplers.runs.store import Checkpoint, DamagedFile, Store

GENERATORS = [np.random.PCG64DXSM, np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64]


def advance(rng, x, steps):
    """A toy chain: its draws, and where it stands after them."""
    path = x + np.cumsum(rng.normal(size=(steps, 3)), axis=0)
    used = rng.integers(1, 500, size=steps)
    return path[-1], {"x": path, "n_used": used, "accepted": used < 200}


def grow(chain, stops, seed=7):
    """Run the toy chain to each of `stops`, saving there; all its draws."""
    rng, x, step, pieces = np.random.Generator(np.random.PCG64DXSM(seed)), np.zeros(3), 0, []
    for stop in stops:
        x, draws = advance(rng, x, stop - step)
        step = stop
        chain.save(Checkpoint(step, rng.bit_generator.state, {"x": x}), draws)
        pieces.append(draws)
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def resume(chain, steps):
    """Go on from the newest good checkpoint for `steps` steps, and save."""
    found = chain.latest()
    rng = np.random.Generator(np.random.PCG64DXSM())
    rng.bit_generator.state = found.rng
    x, draws = advance(rng, found.state["x"], steps)
    chain.save(Checkpoint(found.step + steps, rng.bit_generator.state, {"x": x}), draws)


def same(found, expected):
    """Bit for bit, names and types included."""
    assert {*found} == {*expected}
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        assert found[name].tobytes() == values.tobytes()
        assert found[name].shape == values.shape


@contextmanager
def damaged(*words):
    """Files are refused, for reasons that contain all these words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert {warning.category for warning in caught} == {DamagedFile}
    assert {warning.filename for warning in caught} <= {__file__, store_module.__file__}
    text = " | ".join(str(warning.message) for warning in caught)
    assert [word for word in words if word not in text] == [], text


def files(chain, pattern="*.bin"):
    return sorted(chain.directory.glob(pattern))


@pytest.fixture
def chain(tmp_path):
    with Store(tmp_path / "run").chain(2) as chain:
        yield chain


# --- round trips ------------------------------------------------------------------------------------------------------


def test_draws_come_back_bit_for_bit(chain):
    expected = grow(chain, [10, 11, 40])
    same(chain.draws(), expected)
    assert chain.latest().step == 40
    assert chain.latest().state["x"].tobytes() == expected["x"][-1].tobytes()


@pytest.mark.parametrize("generator", GENERATORS)
def test_the_random_stream_goes_on_where_it_was(tmp_path, generator):
    rng = np.random.Generator(generator(3))
    rng.integers(0, 7, size=3, dtype=np.int32)  # half of a word is left over
    Store(tmp_path).chain(0).save(Checkpoint(0, rng.bit_generator.state, {}), {})
    other = np.random.Generator(generator(4))
    other.bit_generator.state = Store(tmp_path).chain(0).latest().rng
    assert other.integers(0, 7, size=9, dtype=np.int32).tolist() == rng.integers(0, 7, size=9, dtype=np.int32).tolist()
    assert other.random(5).tolist() == rng.random(5).tolist()


def test_every_kind_of_state_comes_back(chain):
    arrays = {
        "nan": np.array([np.nan, -0.0, np.inf, 5e-324]),
        "empty": np.empty((0, 4), np.float32),
        "scalar": np.array(3, np.uint8),
        "turned": np.arange(6, dtype=">i4").reshape(2, 3).T,
        "flags": np.array([[True, False]]),
        "complex": np.array([1 + 2j]),
    }
    plain = {
        "scale": 0.1,
        "n": 2**130,
        "inf": -np.inf,
        "name": "Größe\ud800",
        "on": True,
        "none": None,
        "deep": {"a": {}},
    }
    chain.save(Checkpoint(0, {}, arrays | plain | {"numpy": np.float64(0.3)}), {})
    state = chain.latest().state
    for name, values in arrays.items():
        assert (state[name].dtype, state[name].shape) == (values.dtype, values.shape)
        assert state[name].tobytes() == values.tobytes()
        assert state[name].flags.writeable
    assert {name: state[name] for name in plain} == plain
    assert [type(state[name]) for name in plain] == [type(value) for value in plain.values()]
    assert type(state["numpy"]) is float and state["numpy"] == 0.3


def test_nothing_saved_is_nothing(tmp_path):
    store = Store(tmp_path / "run")
    assert store.chain(0).latest() is None
    assert store.chain(0).draws() == {}
    assert (store.chains(), store.meta()) == ([], None)
    assert not (tmp_path / "run").exists()


def test_chains_do_not_mix(tmp_path):
    store = Store(tmp_path)
    expected = {number: grow(store.chain(number), [5], seed=number) for number in (3, 0, 12)}
    assert store.chains() == [0, 3, 12]
    for number, draws in expected.items():
        same(store.chain(number).draws(), draws)
    os.replace(*(store.chain(number).directory / "state-000000000005.bin" for number in (3, 0)))
    with damaged("chain-0000/state", "not a checkpoint of this chain"):
        assert store.chain(0).latest() is None


def test_three_checkpoints_are_kept_and_segments_never_change(chain):
    grow(chain, [10, 20])
    before = {path: (path.read_bytes(), path.stat().st_ino) for path in files(chain, "draws-*")}
    for _ in range(4):
        resume(chain, 10)
    assert [path.name for path in files(chain, "state-*")] == [f"state-{step:012d}.bin" for step in (40, 50, 60)]
    assert {path: (path.read_bytes(), path.stat().st_ino) for path in before} == before
    assert len(files(chain, "draws-*")) == 6


def test_a_checkpoint_without_new_draws_replaces_the_one_at_its_step(chain):
    expected = grow(chain, [10])
    chain.save(Checkpoint(10, {}, {"x": np.ones(3), "tuned": True}), {"x": np.empty((0, 3))})
    assert chain.latest().state["tuned"] is True
    assert [path.name for path in files(chain, "state-*")] == ["state-000000000010.bin"]
    same(chain.draws(), expected)


def test_reading_many_segments_takes_time_in_proportion(tmp_path, monkeypatch):
    monkeypatch.setattr(checksummed_file, "sync", lambda path: None)
    read = []
    original = checksummed_file.read
    monkeypatch.setattr(checksummed_file, "read", lambda path: read.append(path) or original(path))
    with Store(tmp_path).chain(0) as chain:
        expected = grow(chain, range(1, 301))
        assert len(read) == 0  # a save reads nothing once the end is known
        same(chain.draws(), expected)
    assert len(read) == 301


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_draws_must_continue_the_chain(chain, refuses):
    grow(chain, [10])
    good = {"x": np.zeros((5, 3)), "n_used": np.ones(5, np.int64), "accepted": np.ones(5, bool)}
    refuses(lambda: chain.save(Checkpoint(9, {}, {}), {}), "step = 9", "10")
    refuses(lambda: chain.save(Checkpoint(16, {}, {}), good), "'x'", "(5, 3)", "6 after")
    refuses(lambda: chain.save(Checkpoint(15, {}, {}), good | {"x": np.zeros(())}), "'x'", "()")
    refuses(lambda: chain.save(Checkpoint(15, {}, {}), good | {"x": np.zeros((5, 2))}), "chain so far", "[2]", "[3]")
    refuses(lambda: chain.save(Checkpoint(15, {}, {}), {"x": good["x"]}), "chain so far")
    refuses(lambda: chain.save(Checkpoint(15, {}, {}), {}), "none given for 5 steps")
    assert len(files(chain)) == 2
    chain.save(Checkpoint(15, {}, {}), good)
    assert chain.latest().step == 15


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"f": print}, ["f:", "builtin_function"]),
        ({"o": np.array([{}])}, ["o:", "array of object"]),
        ({"l": [1, 2]}, ["l:", "list"]),
        ({"d": {1: 2}}, ["d:", "key 1"]),
    ],
)
def test_what_only_pickle_could_hold_is_refused(chain, refuses, state, words):
    expected = grow(chain, [10])
    more = {name: values[:5] for name, values in expected.items()}
    refuses(lambda: chain.save(Checkpoint(15, {}, state), more), *words)
    same(chain.draws(), expected)
    resume(chain, 7)  # what the failed save left behind is in nobody's way
    assert [path.name for path in files(chain, "draws-*")][1:] == ["draws-000000000010-000000000017.bin"]
    same({name: values[:10] for name, values in chain.draws().items()}, expected)


def test_another_config_is_refused(tmp_path, refuses):
    store = Store(tmp_path)
    store.describe({"digest": "a" * 64, "version": "0.1.0", "chains": [1, 2]})
    store.describe({"digest": "a" * 64, "version": "0.2.0"})
    assert Store(tmp_path).meta() == {"digest": "a" * 64, "version": "0.1.0", "chains": [1, 2]}
    refuses(lambda: store.describe({"digest": "b" * 64}), str(tmp_path), "aaaa", "bbbb", "another run")
    refuses(lambda: store.describe({"version": "1"}), "digest")
    refuses(lambda: Store(tmp_path / "new").describe({"digest": "a", "x": print}), "run.bin")
    assert Store(tmp_path / "new").meta() is None


def test_a_damaged_description_is_refused(tmp_path, refuses):
    Store(tmp_path).describe({"digest": "a"})
    path = tmp_path / "run.bin"
    path.write_bytes(path.read_bytes().replace(b'"a"', b'"b"'))
    refuses(Store(tmp_path).meta, str(path), "damaged")
    refuses(lambda: Store(tmp_path).describe({"digest": "a"}), str(path), "damaged")


# --- damage -----------------------------------------------------------------------------------------------------------


def with_checksum(data):
    return data + hashlib.sha256(data).digest()


def older(chain, path, data, step):
    """With `data` at `path` the chain goes back to `step`, says why, and all before is untouched."""
    original = path.read_bytes()
    path.write_bytes(data)
    with damaged(path.name):
        found = chain.latest()
    with damaged(path.name):
        draws = chain.draws()
    path.write_bytes(original)
    assert found.step == step
    return draws


@pytest.mark.parametrize("kind", ["state", "draws"])
def test_truncated_files_are_refused(chain, kind):
    expected = grow(chain, [10, 20])
    path = files(chain, f"{kind}-*")[-1]
    data = path.read_bytes()
    for length in [*range(0, len(data), 64), len(data) - 1]:
        same(older(chain, path, data[:length], 10), {name: values[:10] for name, values in expected.items()})
    assert chain.latest().step == 20


@pytest.mark.parametrize("kind", ["state", "draws"])
def test_flipped_bits_are_refused(chain, kind):
    expected = grow(chain, [10, 20])
    path = files(chain, f"{kind}-*")[-1]
    data = path.read_bytes()
    for place in np.random.default_rng(5).integers(8 * len(data), size=60):
        altered = bytearray(data)
        altered[place // 8] ^= 1 << place % 8
        same(older(chain, path, bytes(altered), 10), {name: values[:10] for name, values in expected.items()})
    older(chain, path, data + b"\0", 10)


def test_a_whole_file_in_the_wrong_place_is_refused(chain):
    """Checksums alone would not see a good segment that is not the one the checkpoint was made with."""
    grow(chain, [10, 20])
    with Store(chain.directory.parent.parent / "other").chain(2) as other:
        grow(other, [10, 20], seed=8)
    for path in files(chain, "*20.bin"):
        if path.name.startswith("draws"):
            older(chain, path, (other.directory / path.name).read_bytes(), 10)
    state = files(chain, "state-*")
    older(chain, state[1], state[0].read_bytes(), 10)


@pytest.mark.filterwarnings("ignore::samplers.runs.store.DamagedFile")
def test_crafted_files_with_a_right_checksum_are_refused(chain):
    grow(chain, [10, 20])
    path, good = files(chain, "state-*")[-1], []
    data = path.read_bytes()
    header = json.loads(data[16 : 16 + int.from_bytes(data[8:16], "little")])
    x = ["<f8", [3], 0]
    assert header["content"]["dict"]["state"] == {"dict": {"x": {"array": x}}}
    arrays = [
        ["|O", [3], 0],
        ["<f8", [10**15], 0],
        ["<f8", [-1], 0],
        ["<f8", [3], 9],
        ["<f8", [3], -9],
        ["x", [1], 0],
        3,
    ]
    nodes = [*({"array": array} for array in arrays), {}, [], 3, {"who": 1}, {"dict": [1]}, {"value": 1, "array": x}]
    trees = [{"dict": {"rng": {"dict": {}}, "state": {"dict": {"x": node}}}} for node in nodes]
    trees += [{"dict": {}}, {"value": 3}, {"dict": {"rng": {"value": 1}, "state": {"dict": {}}}}]
    headers = [header | {"content": tree} for tree in trees] + [[], 5, {}, header | {"step": 10}, header | {"chain": 0}]
    headers += [header | {"last": last} for last in (None, [20, 10, ""], [0, 20], "x", [0, 20, 1], [10, 20, "0" * 64])]
    texts = [json.dumps(entry).encode() for entry in headers] + [b"", b"\xff", b"[" * 100_000]
    bodies = [checksummed_file.MAGIC + len(text).to_bytes(8, "little") + text + bytes(24) for text in texts]
    bodies.append(checksummed_file.MAGIC + (2**63).to_bytes(8, "little"))
    for body in bodies:
        path.write_bytes(with_checksum(body))
        good.append((chain.latest().step, len(chain.draws()["x"])))
    assert good == [(10, 10)] * len(bodies)
    text = json.dumps(header).encode()  # and the same with nothing wrong is taken
    path.write_bytes(with_checksum(checksummed_file.MAGIC + len(text).to_bytes(8, "little") + text + bytes(24)))
    assert chain.latest().state["x"].tolist() == [0.0, 0.0, 0.0]


def test_files_of_another_version_are_not_taken_for_damage(chain, refuses):
    grow(chain, [10, 20])
    path = files(chain, "state-*")[-1]
    path.write_bytes(with_checksum(path.read_bytes()[:-32].replace(b"AUSTER1", b"AUSTER2")))
    refuses(chain.latest, path.name, "another version")
    chain.close()
    refuses(lambda: chain.save(Checkpoint(0, {}, {}), {}), "another version")
    assert len(files(chain)) == 4


def test_a_lost_segment_takes_the_chain_back_and_the_run_repairs_it(chain):
    expected = grow(chain, [10, 20, 30, 47])
    files(chain, "draws-*")[2].unlink()
    chain.close()
    with damaged("missing"):
        resume(chain, 5)
    assert [path.name for path in files(chain, "state-*")] == ["state-000000000020.bin", "state-000000000025.bin"]
    assert [path.name[-6:-4] for path in files(chain, "draws-*")] == ["10", "20", "25"]
    resume(chain, 22)
    found = chain.draws()
    assert len(found["x"]) == 47
    same(
        {name: values[:20] for name, values in found.items()}, {name: values[:20] for name, values in expected.items()}
    )


def test_damage_before_every_checkpoint_means_the_beginning(chain):
    grow(chain, [10, 20, 30, 40, 50])
    files(chain, "draws-*")[0].write_bytes(b"")
    chain.close()
    with damaged("starts again at its beginning"):
        assert chain.latest() is None
    with damaged():
        expected = grow(chain, [15])
    same(chain.draws(), expected)
    assert len(files(chain)) == 2


def test_a_reader_is_not_led_astray_by_a_running_writer(chain, monkeypatch):
    grow(chain, [10])
    original, reader = checksummed_file.read, Store(chain.directory.parent).chain(2)

    def overtaken(path):
        monkeypatch.setattr(checksummed_file, "read", original)
        for _ in range(3):  # between the reader's look at the directory and its first file
            resume(chain, 10)
        return original(path)

    monkeypatch.setattr(checksummed_file, "read", overtaken)
    assert reader.latest().step == 40


# --- kills ------------------------------------------------------------------------------------------------------------

WORKER = """
import sys, warnings
import numpy as np
from samplers.runs.store import Checkpoint, Store
warnings.simplefilter("error")  # a kill never leaves damage, only what is not finished
rng = np.random.Generator(np.random.PCG64DXSM(1))
with Store(sys.argv[1]).chain(0) as chain:
    found, draws = chain.latest(), chain.draws()
    step = 0
    if found is not None:
        rng.bit_generator.state, step = found.rng, found.step
    print(step, flush=True)
    while step < 10**6:
        n = 1 + step % 7
        step += n
        x = rng.normal(size=(n, 50))
        chain.save(Checkpoint(step, rng.bit_generator.state, {"step": step}), {"x": x})
"""


def test_kill_9_at_any_moment_loses_nothing(tmp_path):
    steps, moments = [], random.Random(2)
    for _ in range(15):
        worker = subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        steps.append(int(worker.stdout.readline()))
        time.sleep(moments.uniform(0.0, 0.08))
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
        assert worker.returncode == -signal.SIGKILL
        chain = Store(tmp_path).chain(0)
        found, draws = chain.latest(), chain.draws()  # a warning would be an error
        step = found.step if found else 0
        assert step >= steps[-1]
        if found:
            assert found.state["step"] == step
            expected = np.random.Generator(np.random.PCG64DXSM(1))
            assert draws["x"].tobytes() == expected.normal(size=(step, 50)).tobytes()
            assert expected.bit_generator.state == found.rng
    assert len(set(steps)) > 5  # most workers got somewhere
    with chain:
        chain.save(found, {})
    assert list(chain.directory.glob("*.tmp")) + list(chain.directory.glob(".*.tmp")) == []
    assert len(files(chain, "state-*")) <= 3


# --- disks and locks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "call"), [("replace", 0), ("replace", 1), *(("fsync", call) for call in range(4))]
)
def test_a_full_disk_loses_nothing(chain, monkeypatch, function, call):
    """The disk fills up at the segment or at the checkpoint, before or after the file has its name."""
    whole = grow(Store(chain.directory.parent.parent / "undisturbed").chain(2), [10, 22])
    grow(chain, [10])
    before = {path: path.read_bytes() for path in files(chain)}
    original, calls = getattr(os, function), []

    def full(*arguments):
        calls.append(arguments)
        if len(calls) > call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/some/temporary/file")
        return original(*arguments)

    rng = np.random.Generator(np.random.PCG64DXSM())
    found = chain.latest()
    rng.bit_generator.state = found.rng
    x, draws = advance(rng, found.state["x"], 12)
    checkpoint = Checkpoint(22, rng.bit_generator.state, {"x": x})
    monkeypatch.setattr(os, function, full)
    with pytest.raises(OSError, match=r"No space left on device: '.*chain-0002/(draws|state)-.*\.bin'") as caught:
        chain.save(checkpoint, draws)
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert {path: path.read_bytes() for path in before} == before
    assert list(chain.directory.glob(".*.tmp")) == []
    assert Store(chain.directory.parent).chain(2).latest().step in (10, 22)
    chain.save(checkpoint, draws)  # room again: the same save
    same(chain.draws(), whole)
    assert len(files(chain)) == 4


def test_a_really_full_device(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")

    def write():
        with replacing(tmp_path / "a", durable=True) as temporary:
            os.symlink("/dev/full", temporary)
            temporary.write_bytes(b"x" * 10)

    with pytest.raises(OSError, match="No space left") as caught:
        write()
    assert caught.value.filename == str(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["state", "draws"])
def test_a_file_that_the_disk_cannot_read_is_refused_like_an_altered_one(chain, kind):
    if not Path("/proc/self/mem").exists():
        pytest.skip("nothing here that fails to be read")
    expected = grow(chain, [10, 20])
    path = files(chain, f"{kind}-*")[-1]
    path.unlink()
    path.symlink_to("/proc/self/mem")  # a read of its beginning is an input/output error
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        path.read_bytes()
    with damaged(path.name, "cannot be read from the disk; not used"):
        assert chain.latest().step == 10
    with damaged(path.name):
        same(chain.draws(), {name: values[:10] for name, values in expected.items()})


def test_a_directory_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a directory")
    for directory in (tmp_path / "file", tmp_path / "file" / "run"):
        for write in (
            lambda store: store.chain(0).save(Checkpoint(0, {}, {}), {}),
            lambda store: store.describe({"digest": ""}),
        ):
            with pytest.raises(OSError, match=str(tmp_path / "file")) as caught:
                write(Store(directory))
            assert "\n" not in str(caught.value)
    with pytest.raises(NotADirectoryError, match=str(tmp_path / "file")):
        Store(tmp_path / "file").chain(0).latest()
    assert (tmp_path / "file").read_text() == "not a directory"


def test_what_may_not_be_read_is_not_taken_for_damage(chain, monkeypatch):
    """Else a run by the wrong user would start over and remove everything."""
    grow(chain, [10, 20])

    def forbidden(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(checksummed_file, "read", forbidden)
    with pytest.raises(PermissionError, match="state-000000000020"):
        chain.latest()
    assert len(files(chain)) == 4


def test_two_writers(tmp_path, refuses):
    first, second = Store(tmp_path).chain(0), Store(tmp_path).chain(0)
    expected = grow(first, [10])
    refuses(lambda: second.save(Checkpoint(10, {}, {}), {}), "chain-0000", "another run", f"process {os.getpid()}")
    refuses(second.__enter__, "another run")
    same(second.draws(), expected)  # readers need no lock
    grow(Store(tmp_path).chain(1), [10])
    first.close()
    resume(second, 5)
    refuses(lambda: first.save(Checkpoint(20, {}, {}), {"x": np.zeros((10, 3))}), "another run")
    second.close()
    assert first.latest().step == 15
    refuses(lambda: grow(first, [12]), "step = 12", "15")  # it does not trust what it knew before it let go


def test_a_killed_writer_holds_no_lock(tmp_path, refuses):
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    worker.stdout.readline()
    refuses(Store(tmp_path).chain(0).__enter__, "another run", f"process {worker.pid}")
    worker.kill()
    worker.communicate()
    with warnings.catch_warnings(), Store(tmp_path).chain(0) as chain:
        warnings.simplefilter("error")
        step = chain.latest().step if chain.latest() else 0
        chain.save(Checkpoint(step + 1, {}, {}), {"x": np.zeros((1, 50))})
    assert chain.latest().step == step + 1


def test_a_forgotten_writer_lets_go(tmp_path):
    chain = Store(tmp_path).chain(0)
    grow(chain, [10])
    del chain
    resume(Store(tmp_path).chain(0), 5)
    assert Store(tmp_path).chain(0).latest().step == 15
