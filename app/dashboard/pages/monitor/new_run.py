"""Start a run: the design in use, a built-in chain, or one's own config."""

from __future__ import annotations

import time

import streamlit as st

from app.dashboard.export import exports
from app.dashboard.jobs import runs
from app.dashboard.state.current import current_design
from app.dashboard.state.in_use import load_from
from app.dashboard.state.source import current_source
from app.dashboard.state.visitor import owner
from designer.core.errors import BadInput
from designer.core.toml_json import MAX_TEXT
from designer.pairs.examples import EXAMPLES, example
from designer.rule.design import Design
from designer.search.search import search
from samplers.config.built_in import CHAINS, built_in, twin_notice
from samplers.config.config import SamplerConfig

IN_USE, OWN = "*in use*", "*own*"
FIRST = "control"  # the built-in chain that is offered first
TOLERANCE = 0.01  # of the designs made here for the bundled examples


def form() -> SamplerConfig | None:
    """Choose a chain and start it; its config, once there is one."""
    design, config = _design_in_use()
    titles = {OWN: "My own config (TOML)"} | {key: f"{key}: {chain.title}" for key, chain in CHAINS.items()}
    if config is not None:
        titles = {IN_USE: "The design in use, with its chain"} | titles
    options = list(titles)
    chosen: str = st.selectbox(
        "Chain",
        options,
        options.index(IN_USE if config is not None else FIRST),
        key="monitor-chain",
        format_func=lambda key: titles[key],
        help="What is run is `austerity run`, in a process of its own. It goes on when you leave this page, and is "
        "stopped, with its steps saved, when the server ends.",
    )
    whole = _config(chosen, design, config)
    if whole is None:
        return None
    draws, chains = _sizes(whole, chosen)
    name = st.text_input("Name", _free_name(chosen), key=f"monitor-name-{chosen}", max_chars=60)
    if st.button("Start", type="primary", icon=":material/play_arrow:", key="monitor-start"):
        run = whole.run.model_copy(update={"draws": draws, "chains": chains})
        runs.start(name, whole.model_copy(update={"run": run}), owner())
        st.session_state["monitor-started"] = name
        st.rerun()
    st.caption(
        f"At most {runs.MOST_RUNNING} runs at once, {runs.MOST_STEPS:,} steps and {runs.LONGEST / 3600:.0f} hours each."
    )
    return whole


def _design_in_use() -> tuple[Design | None, SamplerConfig | None]:
    """The design in use, and the whole config if the chain of its trial run is known."""
    loaded = load_from(current_source())
    design = None if loaded is None else current_design(loaded.trial)
    if design is None or loaded is None or loaded.config is None:
        return design, None
    return design, SamplerConfig.from_toml(exports.sampler_config(design, loaded.config))


def _config(chosen: str, design: Design | None, config: SamplerConfig | None) -> SamplerConfig | None:
    """The config to run, with a word on its test."""
    if chosen == IN_USE:
        assert design is not None
        st.caption(f"m = {design.m:,}, ε = {design.epsilon:.3g}, N = {design.n_data:,}.")
        return config
    if chosen == OWN:
        return _own(design)
    plain = built_in(chosen)
    st.caption(" ".join(filter(None, (CHAINS[chosen].about, twin_notice(plain)))))
    if chosen in EXAMPLES:
        made = _made_for(chosen)
        if made is None:
            return plain
        st.caption(
            f"Its test: the design for its bundled trial run at tolerance {TOLERANCE:g} (m = {made.m:,}, "
            f"ε = {made.epsilon:.3g})."
        )
        return SamplerConfig.from_toml(plain.to_toml(), made)
    st.caption(
        "Its test is exact, and promises nothing. For a test with promises, make a trial run of this chain on the "
        "Trial run page and choose a design on the Design page."
    )
    return plain


@st.cache_data(show_spinner="Finding its design …")
def _made_for(name: str) -> Design | None:
    return search(example(name), TOLERANCE).best


def _own(design: Design | None) -> SamplerConfig | None:
    """The config in a file of the user; its paths are in the runs folder unless they are absolute."""
    file = st.file_uploader(
        "A sampler config",
        ["toml"],
        key="monitor-config",
        max_upload_size=1,
        help="As for `austerity run`. Without [test], the design in use applies.",
    )
    where = "" if runs.place.local else " This server reads data only from there."
    st.caption(f"Relative paths of data are in the runs folder.{where}")
    if file is None:
        return None
    try:
        if file.size > 4 * MAX_TEXT:
            raise BadInput(f"{file.size:,} bytes are too many for a config")
        text = file.getvalue().decode("utf-8-sig")
        return SamplerConfig.from_toml(text, design if "[test]" not in text else None)
    except UnicodeDecodeError:
        raise BadInput(f"{file.name}: the text is not UTF-8") from None
    except BadInput as problem:
        raise BadInput(f"{file.name}: {problem}") from None


def _sizes(config: SamplerConfig, chosen: str) -> tuple[int, int]:
    left, right = st.columns(2)
    draws = left.number_input(
        "Draws per chain",
        100,
        runs.MOST_STEPS,
        max(100, config.run.draws),
        step=1000,
        key=f"monitor-draws-{chosen}",
        help=f"After a warm-up of {config.run.warmup:,} steps.",
    )
    chains = right.number_input(
        "Chains", 1, runs.MOST_CHAINS, min(config.run.chains, runs.MOST_CHAINS), key=f"monitor-chains-{chosen}"
    )
    return int(draws), int(chains)


def _free_name(chosen: str) -> str:
    """A name that is not taken."""
    stem = {IN_USE: "design", OWN: "own"}.get(chosen, chosen)
    taken, day = set(runs.names()), time.strftime("%m%d")
    return next(name for k in range(1, 1000) if (name := f"{stem}-{day}-{k}") not in taken)
