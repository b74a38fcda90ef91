"""The whole way with the mouse alone: clicks and drags, and no key pressed from first sight to the file."""

from __future__ import annotations

from designer import Design, search
from designer.pairs.examples import EXAMPLES, example
from tests.browser.test_explore import query, sentence
from tests.browser.test_journey import download, visit, wait_for

COUNT_KEYS = """() => {
    const count = () => sessionStorage.setItem('keys', 1 + Number(sessionStorage.getItem('keys')));
    document.addEventListener('keydown', count, {capture: true});
}"""
KEYS = "() => Number(sessionStorage.getItem('keys'))"


def test_from_opening_to_a_file_with_the_mouse_alone(open_screen):
    screen = open_screen("explore")
    screen.page.evaluate(COUNT_KEYS)
    before = sentence(screen)
    screen.drag("Threshold ε", 0.9).until(lambda: "eps" in query(screen) and sentence(screen) != before)
    epsilon = float(query(screen)["eps"])
    assert epsilon > 0.05
    screen.until(lambda: f"ε = {epsilon:g}" in sentence(screen))

    visit(screen, "Trial run")
    screen.pick("Trial run from", f"Example: {EXAMPLES['control'].title}")
    wait_for(screen, f"digest {example('control').digest[:12]}")

    wait_for(visit(screen, "Design"), "Take it away")
    screen.drag("Tolerance Δ*", 0.9).until(lambda: "tol" in query(screen))
    tolerance = float(query(screen)["tol"])
    assert tolerance > 0.01
    screen.press("Find the design").page.get_by_text("Stale:").wait_for(state="detached")
    best = search(example("control"), tolerance).best
    wait_for(screen, f"Read {best.m:,} data")
    screen.press("Pin this design")
    wait_for(screen, "Unpin this design")
    assert Design.from_text(download(screen, "Sampler config (TOML)")).without_notes == best.without_notes
    assert screen.page.evaluate(KEYS) == 0
    assert screen.alarms() == [] and screen.wrong == []
    screen.slide("Tolerance Δ*", -1)
    assert screen.page.evaluate(KEYS) == 1  # it does count
