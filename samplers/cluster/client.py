"""Chains, trial runs, experiments and searches on a Dask cluster, with the same results, bit for bit, as here.

The caller sends strings, numbers and paths. Workers read the data themselves and save their chains in the run's
directory, so this must be on a file system that all of them share. When a worker dies, the scheduler gives its chains
to others, which continue from the last checkpoints.
"""

from __future__ import annotations

import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from designer.core.errors import BadInput, Busy, prefix_errors
from designer.core.files import shorten, write_whole
from designer.core.progress import Cancelled
from designer.pairs.trial_run import TrialRun
from samplers.chains.blas import default_threads
from samplers.chains.parallel import RunProgress
from samplers.cluster import tasks as cluster_tasks
from samplers.cluster.tasks import (
    MESSAGE,
    SUMS,
    ChainProgress,
    ChainTask,
    PartTask,
    Task,
    TaskResult,
    TrialTask,
)
from samplers.config.config import SamplerConfig
from samplers.runs.monitor import Counts, Expected, Monitor
from samplers.runs.run import settings_of
from samplers.runs.saved_run import check_directory, expected_of, write_results
from samplers.runs.store import Store

if TYPE_CHECKING:
    from xarray import DataTree

    from designer.core.progress import ShareProgress
    from samplers.experiments.framework.running import Batch, Values

CONNECT = 10.0  # seconds to find the scheduler, and a worker
POLL = 0.2  # seconds between two calls of `cancelled`
RETRIES = 3  # after an error of the file system
SAVING = 60.0  # seconds for cancelled chains to save
SAVED = "progress is saved, continue with --resume"  # what to do when the cluster fails
NOTHING_SAVED, PARTS_SAVED = "nothing was saved, start it again", "finished parts are saved, start it again"
MARKER = "cluster.marker"  # in the directory of a run, while it is on a cluster

Receive = Callable[[dict[str, Any]], None]


class OtherArithmetic(UserWarning):
    """The last bits of a worker's sums differ from the caller's."""


class Cluster:
    """A connection to the scheduler of a cluster; a context manager.

    Parameters
    ----------
    address
        As `tcp://host:8786`, or `tls://host:8786` with the certificates that Dask's settings name.

    Examples
    --------
    ::

        with Cluster("tcp://host:8786") as cluster:
            results = cluster.run_config(config, "/shared/run")
            trial = cluster.collect_pairs(config, pairs=100)
            run_experiment(experiment("e1"), "quick", "out", mapper=cluster.parts)
            search(trial, 0.01, mapper=cluster.map)
    """

    def __init__(self, address: str) -> None:
        self.client: Any = _client(address)
        self.address, self.threads = address, default_threads()
        try:
            self._check(None)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the cluster runs on."""
        self.client.close()

    # --- public ------------------------------------------------------------------------------------------------------

    def run_config(
        self,
        config: SamplerConfig,
        output: str | Path,
        *,
        resume: bool = False,
        progress: Callable[[RunProgress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> DataTree:
        """As `samplers.runs.run.run_config`: the same draws, by the cluster's workers."""
        store = Store(Path(output).resolve())
        check_directory(store, resume=resume)
        settings = settings_of(config)
        numbers = range(settings.chains)
        tally = _Tally(len(numbers) * settings.steps, progress, lambda: expected_of(store.meta() or {}, settings))
        with store.held(), _marked(store) as marker:
            whole = config.portable()
            self._check(marker, [path for path in (whole.data.path, whole.data.labels) if path is not None])
            tasks = [ChainTask(whole.to_toml(), str(store.directory), number, marker) for number in numbers]
            try:
                for _, reached in self._each(
                    tasks, lambda message: tally.add(ChainProgress(**message)), cancelled, SAVED
                ):
                    tally.add(reached)
            except Cancelled:
                _wait_for_writers(store, numbers)
            finally:
                with suppress(OSError):  # a scheduler that is gone
                    self.client.run(cluster_tasks.forget, on_error="ignore")
            return write_results(store, settings)

    def collect_pairs(
        self,
        config: SamplerConfig,
        pairs: int,
        every: int | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> TrialRun:
        """As `samplers.runs.run.collect_pairs`: one task; if its worker dies, another one starts again."""

        def receive(message: dict[str, Any]) -> None:
            if progress is not None:
                progress(message["done"], message["total"])

        task = TrialTask(config.portable().to_toml(), pairs, every)
        ((_, trial),) = self._each([task], receive, cancelled, NOTHING_SAVED)
        assert isinstance(trial, TrialRun)
        return trial

    def parts(
        self, batch: Batch, progress: ShareProgress, cancelled: Callable[[], bool]
    ) -> Iterable[tuple[str, Values]]:
        """The parts of an experiment, as they are done: the `mapper` of `run_experiment`."""
        shares, lock = dict.fromkeys(batch.names, 0.0), threading.Lock()  # as in `_Tally`

        def receive(message: dict[str, Any]) -> None:
            with lock:
                shares[message["part"]] = message["share"]
                progress(sum(shares.values()) / len(shares), message["note"])

        folder = None if batch.folder is None else str(batch.folder.resolve())
        experiment = batch.experiment.name, tuple(batch.experiment.data), batch.settings
        tasks = [PartTask(*experiment, name, folder, batch.known, self.threads) for name in batch.names]
        for number, values in self._each(tasks, receive, cancelled, PARTS_SAVED):
            name = batch.names[number]
            receive({"part": name, "share": 1.0, "note": name})
            yield name, values

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """function(item) of each, in their order: the `mapper` of a search. The function travels once."""
        held = self.client.submit(cluster_tasks.unchanged, function, pure=False)
        futures = [self.client.submit(cluster_tasks.call, held, item, self.threads, pure=False) for item in items]
        try:
            for future in futures:
                yield self._value(future, NOTHING_SAVED)
        finally:
            with suppress(OSError):
                self.client.cancel([held, *futures])

    # --- how ----------------------------------------------------------------------------------------------------------

    def _each(
        self, tasks: Sequence[Task], receive: Receive, cancelled: Callable[[], bool] | None, advice: str
    ) -> Iterator[tuple[int, Any]]:
        """The value of each task with its number, as they are done; when the caller stops, so do they."""
        from distributed import wait

        topic = f"austerity-{secrets.token_hex(8)}"
        self.client.subscribe_topic(topic, lambda event: receive(event[1][MESSAGE]))
        arguments, options = (topic, cluster_tasks.versions()), {"pure": False, "retries": RETRIES}
        submitted = [self.client.submit(cluster_tasks.perform, task, *arguments, **options) for task in tasks]
        pending = {future: number for number, future in enumerate(submitted)}
        try:
            while pending:
                if cancelled is not None and cancelled():
                    raise Cancelled
                with self.client.as_current(), suppress(TimeoutError, CancelledError):  # of which _value tells
                    wait(list(pending), timeout=POLL, return_when="FIRST_COMPLETED")
                for future in [future for future in pending if future.done()]:
                    yield pending.pop(future), self._value(future, advice)
        finally:
            with suppress(OSError):  # a scheduler that is gone
                self.client.unsubscribe_topic(topic)
                self.client.cancel(submitted)

    def _value(self, future: Any, advice: str) -> Any:
        """The value of a task; its problem is raised here, with advice if the cluster has failed."""
        from distributed import KilledWorker

        try:
            result: TaskResult = future.result()
        except KilledWorker:
            raise BadInput(f"cluster: {self.address}: every worker that tried died; {advice}") from None
        except OSError:
            raise
        except CancelledError:
            lost = "the connection was lost"
            raise BadInput(f"cluster: {self.address}: {lost}; {advice}, here or on another cluster") from None
        except Exception:
            self._check(None)  # a worker with other software, which came later, is the reason that we can name
            raise
        if result.problem is not None:
            raise ArithmeticError(result.problem) if result.numerical else BadInput(result.problem)
        return result.value

    def _check(self, marker: str | None, files: Sequence[str] = ()) -> None:
        """Check that every worker has our software, sees the file `marker` and has the same data files as the others.

        Warn if its sums end in other bits.
        """
        ours, first = cluster_tasks.probe(None), ""
        answers = self.client.run(cluster_tasks.probe, marker, files, on_error="return")
        for worker, theirs in answers.items():
            if isinstance(theirs, BadInput):
                raise BadInput(f"worker {worker}: {theirs}")
            if isinstance(theirs, BaseException):
                advice = "install the same versions of Python and austerity there, or remove this worker"
                raise BadInput(f"worker {worker}: cannot run austerity: {shorten(theirs, 100)}; {advice}")
            with prefix_errors(f"worker {worker}: "):
                cluster_tasks.check_software(theirs, cluster_tasks.versions())
            first = first or worker
            for file in files:
                if theirs[file] != answers[first][file]:
                    differ = f"{file} has {theirs[file]}, on worker {first} {answers[first][file]}"
                    raise BadInput(f"worker {worker}: {differ}; every worker needs the same data")
            if theirs[SUMS] != ours[SUMS]:
                message = (
                    f"worker {worker}: its processor rounds sums differently; draws may differ in their last digits"
                )
                warnings.warn(message, OtherArithmetic, stacklevel=3)


def _client(address: str) -> Any:
    """A connection to a scheduler that has workers."""
    try:
        from distributed import Client
    except ImportError:
        raise BadInput("cluster: needs the package distributed: pip install 'austerity[cluster]'") from None
    _check_certificates(address)
    try:
        client = Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        why = f"no scheduler answers ({shorten(error, 80)})"
        form = "must be as tcp://host:8786 or, with certificates, tls://host:8786"
        raise BadInput(f"cluster = {shorten(address, 80)!r}: {why}; {form}") from None
    try:
        client.wait_for_workers(1, timeout=CONNECT)
    except TimeoutError:
        client.close()
        raise BadInput(f"cluster: {address}: has no workers") from None
    return client


def _check_certificates(address: str) -> None:
    """Check that Dask's settings name certificates for a tls:// address, and that they can be read.

    Checked before there is a client: a client that fails without them is never closed, and complains at exit.
    """
    from distributed.security import Security

    if not address.startswith("tls://"):
        return
    try:
        context = Security().get_connection_args("client").get("ssl_context")
    except OSError as error:
        raise BadInput(f"cluster: the certificates of Dask's settings: {shorten(error, 80)}") from None
    if context is None:
        settings = "distributed.comm.tls: ca-file, client.cert and client.key (docs/cluster.md)"
        raise BadInput(f"cluster: {shorten(address, 80)}: needs certificates, from Dask's settings {settings}")


@contextmanager
def _marked(store: Store) -> Iterator[str]:
    """A new file in the directory of a run, which the caller holds: a worker that sees it sees the same directory."""
    marker = store.directory / f"{MARKER}.{secrets.token_hex(4)}"
    for old in store.directory.glob(f"{MARKER}.*"):  # of callers that were killed
        old.unlink(missing_ok=True)
    write_whole(marker, b"")
    try:
        yield str(marker)
    finally:
        marker.unlink(missing_ok=True)


def _wait_for_writers(store: Store, numbers: Iterable[int]) -> None:
    """Wait until cancelled chains have saved their steps."""
    until = time.monotonic() + SAVING
    for number in numbers:
        while number in store.chains() and time.monotonic() < until:
            with suppress(Busy), store.chain(number):
                break
            time.sleep(POLL)


class _Tally:
    """Adds up the progress of chains, and watches it; steps lost with a worker and made again count once.

    Messages of tasks arrive in Dask's own thread, their results in the caller's; a lock keeps them apart.
    """

    def __init__(
        self,
        total: int,
        progress: Callable[[RunProgress], None] | None,
        expected: Callable[[], Expected | None] = lambda: None,
    ) -> None:
        self.total, self.progress, self.begin = total, progress, time.monotonic()
        self.expected = expected  # known once a worker has described the run
        self.monitor: Monitor | None = None
        self.first: dict[int, int] = {}  # where each chain was when the run began
        self.latest: dict[int, ChainProgress] = {}
        self.lock = threading.Lock()

    def add(self, reached: ChainProgress) -> None:
        """Take in the progress of one chain."""
        with self.lock:
            self._add(reached)

    def _add(self, reached: ChainProgress) -> None:
        self.first.setdefault(reached.chain, reached.start)
        self._watch(reached)
        self.latest[reached.chain] = reached
        if self.progress is None:
            return
        steps = sum(chain.step - chain.start for chain in self.latest.values())
        accepted, used = (sum(getattr(chain, name) for chain in self.latest.values()) for name in ("accepted", "used"))
        done = sum(chain.step - self.first[number] for number, chain in self.latest.items())
        shares = accepted / max(steps, 1), used / max(steps, 1) / reached.n_data
        seconds, warning = time.monotonic() - self.begin, "" if self.monitor is None else self.monitor.finding
        self.progress(RunProgress(done, self.total - sum(self.first.values()), seconds, *shares, warning))

    def _watch(self, reached: ChainProgress) -> None:
        if self.monitor is None:
            self.monitor = Monitor(self.expected())
        known = self.latest.get(reached.chain)
        if known is None or known.start != reached.start or known.step > reached.step:
            self.monitor.begin(reached.chain, reached.start)
            known = None
        before = Counts(0, 0, 0) if known is None else Counts(*known.counts)
        self.monitor.count(reached.chain, Counts(*reached.counts).minus(before))
