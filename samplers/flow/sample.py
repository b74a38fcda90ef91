"""`sample`: from a model to an audited posterior in one call."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from designer.core.arrays import Floats
from designer.core.errors import BadInput, NumericalFailure, integer
from designer.rule.design import Design
from samplers.chains.blas import blas_threads
from samplers.chains.draws import MAX_DRAWS
from samplers.chains.spec import ChainSpec
from samplers.flow.narrator import Narrator
from samplers.flow.place import Place, check_place
from samplers.flow.problem import Problem, problem_of
from samplers.flow.proposing import proposed
from samplers.flow.result import SampleResult
from samplers.flow.steps import DRAWS, ENOUGH, Flow
from samplers.flow.testing import chosen_test
from samplers.flow.which_test import ChosenTest
from samplers.flow.wishes import DEFAULT, NotGiven, checked, usual
from samplers.flow.without_chains import laplace_draws
from samplers.runs.monitor import NotAsPredicted
from samplers.runs.results import MIXED, collect, from_netcdf, summary, to_netcdf
from samplers.runs.run_chains import run
from samplers.runs.saved_run import BLAS_THREADS, RESULTS
from samplers.study.audit import Audit, audit_chain
from samplers.study.certify import Certificate, certify_chain
from samplers.study.observe import WITHOUT_ERROR

if TYPE_CHECKING:
    from xarray import DataTree

    from samplers.config.config import SamplerConfig
    from samplers.models import Model

LONGER = 1.3  # more draws than the effective ones so far ask for
MOST_LONGER = 20  # times the first number of draws, if nobody says how many
EXTENSIONS = 4


def sample(
    model: Model | SamplerConfig | str | Path,
    *,
    posterior_error: float | None = None,
    tolerance: float | None = None,
    draws: int | None = DEFAULT["draws"],
    chains: int = DEFAULT["chains"],
    warmup: int | None = DEFAULT["warmup"],
    seed: int = DEFAULT["seed"],
    start: npt.ArrayLike | None = None,
    names: Sequence[str] | None = None,
    test: Any = DEFAULT["test"],
    design: Design | None = DEFAULT["design"],
    proposal: Any = DEFAULT["proposal"],
    order: int | None = DEFAULT["order"],
    heavy: Any = DEFAULT["heavy"],
    laplace: str = "auto",
    pairs: int | None = None,
    audit: bool | int = True,
    certify: int | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
    workers: int | None = None,
) -> SampleResult:
    """Sample a posterior to a wished accuracy, and say what was done, why, and what was shown.

    Mode → need one sample at all? → which proposal and which test → trial run and design, if that test needs them →
    warm-up and chains → audit. Every choice is a `Decision` of the result, with its reason, and is shown on the way.

    Parameters
    ----------
    model
        A `LinearModel` or `SmoothModel` (with control variates), any other `Model` (with a `start`), a `SamplerConfig`,
        or the path of a config. Every argument that you give counts more than the config's entry, also one that equals
        the default here: `test="auto"` sets aside the config's `[test]`.
    posterior_error
        Largest error of any mean, in posterior standard deviations, and relative error of any standard deviation, that
        the method may add to the Monte Carlo error of the draws; 0.05 by default.
    tolerance
        Instead: largest mean |Δ| of the acceptance probability.
    draws, chains
        Draws of each chain after warm-up. By default 1,000, and more (up to 20 times) until the effective draws of
        every parameter are 400.
    warmup
        Steps before; by default 100 for independent proposals and 500 for others.
    seed
        The draws depend on it, and on nothing else that is not an argument.
    start, names
        A state near the mode; names of the parameters. By default the model's own.
    test
        "auto": the cheapest of "exact-minibatch", "sequential" and "exact"; one of these; or a test.
    design
        Of the sequential test, instead of a search.
    proposal
        "auto": independent proxy proposals if they promise more than a random walk; "proxy"; "random-walk"; or a
        proposal.
    order
        Of the control variates: 2, 1, or 0 for none.
    heavy
        Rows that every step reads, as for `Controlled.around`; with group effects "auto" is none.
    laplace
        "auto": draws of the Laplace approximation, or weighted ones, if they are within the posterior error; "never";
        "always": never a chain, which group effects and models without derivatives do not allow.
    pairs
        Of the trial run; by default 200 for independent proposals and 100 for others.
    audit
        Most audited steps of a sequential test (True: 400), each a pass over the data; False for none.
    certify
        Passes over the data for a certificate of the posterior; None for none.
    output, resume
        A directory for everything: checkpoints, trial run, design, results, audit, decisions and report. With `resume`,
        a stopped call goes on there, repeats no finished step, and makes the same draws. `draws`, `chains`, `audit` and
        `certify` may then be others: what depends on them is made again. Other arguments must be those of before. A
        call that is refused before it has draws leaves nothing there.
    progress
        Whether to show decisions and progress on standard error.
    workers
        Threads of the chains.

    Returns
    -------
    SampleResult
        `.posterior` has the draws; `.report()` tells everything, warnings first.

    Raises
    ------
    BadInput
        If an argument or the model cannot be used, or `output` holds something else.
    NumericalFailure
        If the posterior has no mode, for example because it is improper.

    Examples
    --------
    >>> from samplers import Logistic
    >>> rng = np.random.default_rng(1)
    >>> x = np.column_stack([np.ones(20_000), rng.standard_normal((20_000, 2))])
    >>> y = rng.random(20_000) < 1.0 / (1.0 + np.exp(4.0 - x[:, 1]))
    >>> result = sample(Logistic.from_data(x, y, 1.0), posterior_error=0.02, laplace="never", progress=False)
    >>> result.method, result.posterior["posterior/theta"].shape, result.warnings
    ('exact-minibatch', (4, 1000, 3), ())
    """
    asked: dict[str, Any] = {"draws": draws, "warmup": warmup, "chains": chains, "seed": seed}
    asked |= {"test": test, "design": design, "proposal": proposal, "order": order, "heavy": heavy}
    more: dict[str, Any] = {"laplace": laplace, "pairs": pairs, "audit": audit, "certify": certify}
    checked(posterior_error, tolerance, **usual(asked), **more)  # before anything is read
    workers = None if workers is None else integer("workers", workers, 1, 1000)
    if resume and output is None:
        raise BadInput("resume: needs the directory of a stopped call, `output`")
    if output is not None:
        check_place(Path(output), resume=resume)
    with blas_threads(BLAS_THREADS):
        problem = problem_of(model, start, names)
        wishes = checked(posterior_error, tolerance, **_with_config(problem, asked), **more)
        with _directory(output) as directory, Place(directory).held():
            check_place(directory, resume=resume)  # again: another process may have been faster
            place = Place(directory)
            flow, begun = Flow(problem, wishes, place, Narrator(shown=progress)), place.begun
            try:
                return _sampled(flow, output is not None, workers)
            except (BadInput, NumericalFailure):
                if not begun and not place.has_draws:
                    place.clear()  # nothing is lost: the same call would be refused again
                raise
            except KeyboardInterrupt as stop:
                if output is not None:
                    stop.add_note(f"what is finished is saved in {output}; the same call with resume=True goes on")
                raise


def _with_config(problem: Problem, asked: dict[str, Any]) -> dict[str, Any]:
    """The arguments; where they were not given, what the config says, and otherwise the defaults."""
    tables = ("test", "design", "proposal", "order", "heavy")
    said = {**problem.run, **{name: getattr(problem, name) for name in tables}}
    if not isinstance(asked["test"], NotGiven):
        said["design"] = None  # test and design say the same: where one is given, the config's other has no say
    if usual(asked)["design"] is not None:
        said["test"] = None
    taken = {name: value for name, value in said.items() if value is not None and isinstance(asked[name], NotGiven)}
    return usual(asked | taken)


@contextmanager
def _directory(output: str | Path | None) -> Iterator[Path]:
    """The directory of the results, or one that is gone in the end."""
    if output is not None:
        yield Path(output)
        return
    with tempfile.TemporaryDirectory(prefix="austerity-") as folder:
        yield Path(folder) / "flow"


def _sampled(flow: Flow, kept: bool, workers: int | None) -> SampleResult:
    flow.begin()
    mode = flow.mode()
    proxied = flow.proxied(mode)
    verdict = None
    if proxied is not None:
        found = laplace_draws(flow, proxied)
        verdict = found["verdict"]
        if found["theta"] is not None:
            return _finished(flow, kept, _laplace_tree(flow, verdict, found["theta"]), found["theta"], verdict=verdict)
    proposal, start = proposed(flow, proxied, mode)
    plan = chosen_test(flow, proxied, proposal, start)
    spec = flow.spec(proxied, proposal, start, plan)
    tree = _chains(flow, spec, flow.warmup(proposal), workers)
    theta = np.asarray(tree["posterior/theta"].values)
    audit = _audit(flow, spec, plan, theta)
    certificate = _certificate(flow, spec, theta)
    return _finished(flow, kept, tree, theta, verdict, spec, plan, audit, certificate)


def _laplace_tree(flow: Flow, verdict: Any, theta: Floats) -> DataTree:
    note = "independent draws of the Laplace approximation"
    if verdict.method == "importance":
        note = f"importance sampling: as many draws as are effective of {len(verdict.weighted.theta):,} weighted ones"
    facts = {"model": type(flow.problem.model).__qualname__, "method": verdict.method, "note": note}
    chains = [{"theta": each} for each in theta]
    return collect(chains, {**flow.problem.facts, **facts} | {"laplace": verdict.sentence}, names=flow.problem.names)


def _chains(flow: Flow, spec: ChainSpec, warmup: int, workers: int | None) -> DataTree:
    """The draws; if nobody said how many, more of them until enough are effective."""
    wishes, place = flow.wishes, flow.place
    draws, tree = wishes.draws or DRAWS, None
    most = MAX_DRAWS if wishes.draws else MOST_LONGER * DRAWS
    for attempt in range(EXTENSIONS + 1):
        with flow.narrator.chains("chains") as show, warnings.catch_warnings():
            warnings.simplefilter("ignore", NotAsPredicted)  # the report says it
            run(
                spec.model,
                spec.proposal,
                spec.test if spec.design is None else spec.design,
                start=spec.start,
                draws=draws,
                warmup=warmup,
                chains=wishes.chains,
                seed=wishes.seed,
                rule=spec.rule,
                output=place.path("run"),
                resume=True,
                names=spec.names,
                workers=workers,
                progress=show,
            )
        tree = from_netcdf(place.path("run") / RESULTS)
        rows = summary(tree).rows
        least = min((ess for row in rows for ess in (row.ess_bulk, row.ess_tail) if not math.isnan(ess)), default=0.0)
        apart = max((row.r_hat for row in rows if not math.isnan(row.r_hat)), default=1.0)
        if wishes.draws is not None or draws >= most or attempt == EXTENSIONS:
            break
        if least >= ENOUGH and not apart > MIXED:
            break
        longer = min(most, math.ceil(draws * max(1.5, min(LONGER * ENOUGH / max(least, 1.0), float(MOST_LONGER)))))
        few = f"the slowest parameter has {least:,.0f} effective draws, fewer than {ENOUGH}"
        why = few if least < ENOUGH else f"r_hat is {apart:.3f} for a parameter, above {MIXED:g}"
        flow.decide("draws", f"{longer:,} of each chain instead of {draws:,}", why, "draws=")
        draws = longer
    assert tree is not None
    how = "it was asked for" if wishes.draws is not None else f"at least {ENOUGH} effective draws are wanted"
    flow.decide(
        "chains", f"{wishes.chains} of {draws:,} draws after {warmup:,} steps of warm-up", how, "draws=, chains="
    )
    return tree


def _audit(flow: Flow, spec: ChainSpec, plan: ChosenTest, theta: Floats) -> Audit | None:
    """Mean |Δ| of the steps that the chains make, if their test errs."""
    wishes = flow.wishes
    if isinstance(spec.test, WITHOUT_ERROR) or not wishes.audit:
        return None

    def make() -> Audit:
        chain = spec._replace(start=theta[0, -1]).chain(flow.rng(6))
        tolerance = None if math.isnan(plan.tolerance) else plan.tolerance
        with flow.narrator.bar("audit") as show:
            found = audit_chain(
                chain, spec.design, tolerance=tolerance, passes=wishes.audit, wish=wishes.error, progress=show
            )
        flow.decide("audit", found.verdict, found.sentence, "audit=False, or the number of passes")
        return found

    found = flow.step("audit", make, lambda _: {"audit": wishes.audit, "draws": theta.shape[1]})
    flow.place.write_json("audit.json", found)
    return found


def _certificate(flow: Flow, spec: ChainSpec, theta: Floats) -> Certificate | None:
    passes = flow.wishes.certify
    if passes is None or isinstance(spec.test, WITHOUT_ERROR):
        return None

    def make() -> Certificate:
        chain = spec._replace(start=theta[0, -1]).chain(flow.rng(7))
        with flow.narrator.bar("certificate") as show:
            found = certify_chain(
                chain,
                theta.reshape(-1, theta.shape[-1]),
                spec.names,
                passes,
                wish=flow.wishes.error,
                seed=flow.wishes.seed,
                progress=show,
            )
        flow.decide("certificate", found.outcome, found.sentence, "certify=None, or the number of passes")
        return found

    chains, draws = theta.shape[:2]
    return flow.step("certificate", make, lambda _: {"certify": passes, "draws": draws, "chains": chains})


def _finished(
    flow: Flow,
    kept: bool,
    tree: DataTree,
    theta: Floats,
    verdict: Any = None,
    spec: ChainSpec | None = None,
    plan: ChosenTest | None = None,
    audit: Audit | None = None,
    certificate: Certificate | None = None,
) -> SampleResult:
    """The result, with its files."""
    place = flow.place
    trial = None
    if plan is not None and flow.trial_path.exists():
        from designer.pairs.trial_run import TrialRun

        trial = TrialRun.load(flow.trial_path)
    result = SampleResult(
        posterior=_in_own_names(flow.problem, tree, theta),
        theta=theta,
        method=("importance" if verdict.method == "importance" else "laplace") if plan is None else plan.kind,
        wishes=flow.wishes,
        decisions=tuple(flow.decisions),
        laplace=verdict,
        plan=plan,
        trial=trial,
        audit=audit,
        certificate=certificate,
        seconds=dict(flow.seconds),
        n_data=int(flow.problem.model.n_data),
        output=place.directory if kept else None,
        spec=spec,
    )
    if kept:
        place.write_json("decisions.json", result.decisions)
        to_netcdf(result.posterior, place.path(RESULTS))
        result.report(place.path("report.html"))
    for line in result.warnings:
        flow.narrator.say(f"WARNING: {line}")
    return result


def _in_own_names(problem: Problem, tree: DataTree, theta: Floats) -> DataTree:
    """The draws under the model's own names and in its shapes, if it has them."""
    if problem.unpack is None:
        tree.attrs |= dict(problem.facts)
        return tree
    own = {name: np.asarray(values) for name, values in problem.unpack(theta).items()}
    wrong = [name for name, values in own.items() if values.shape[:2] != theta.shape[:2]]
    if wrong:
        raise BadInput(f"model.unpack: {wrong[0]} has shape {own[wrong[0]].shape}; must begin with {theta.shape[:2]}")
    stats: dict[str, Any] = {}
    if "sample_stats" in tree:
        stats = {str(name): np.asarray(values.values) for name, values in tree["sample_stats"].data_vars.items()}
    chains = [{name: values[number] for name, values in (own | stats).items()} for number in range(theta.shape[0])]
    result = collect(chains, {str(name): value for name, value in tree.attrs.items()} | dict(problem.facts))
    posterior = result["posterior"].to_dataset()
    for name, axes in getattr(problem.model, "coordinates", {}).items():
        posterior = posterior.assign_coords(dict(zip(posterior[name].dims[2:], map(list, axes), strict=True)))
    result["posterior"] = posterior
    return result
