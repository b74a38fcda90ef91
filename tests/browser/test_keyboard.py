"""Without a mouse, on a phone, on paper: where the keyboard is can be seen, menus have names, and pages do not jump."""

from __future__ import annotations

import pytest

MOST_STOPS = 60  # of the Tab key on one page
MOST_SHIFT = 0.05  # of the window, as browsers add it up while a knob moves
FOCUSED = """() => {
    const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
    const line = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
    const seen = line && box.width > 0 && box.height > 0;
    return {body: at === document.body, seen, what: at.outerHTML.slice(0, 120)};
}"""
WATCH = """() => {
    window.shifted = 0;
    new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => { window.shifted += value; }))
        .observe({ type: 'layout-shift' });
}"""


@pytest.mark.parametrize("path", ["", "explore", "learn?part=drag+the+boundary", "league"])
def test_the_tab_key_visits_few_places_and_shows_each(open_screen, path):
    screen = open_screen(path).drawn()
    places = []
    for _ in range(MOST_STOPS + 1):
        screen.page.keyboard.press("Tab")
        place = screen.page.evaluate(FOCUSED)
        if place["body"]:
            break
        places.append(place)
    assert 10 < len(places) <= MOST_STOPS
    assert [place["what"] for place in places if not place["seen"]] == []


def test_the_menu_of_a_phone_has_a_name_and_leads_to_pages(open_screen):
    screen = open_screen("league", width=390)
    screen.page.get_by_role("button", name="Menu").click()
    screen.page.get_by_role("link", name="Learn", exact=True).click()
    screen.page.get_by_role("heading", name="Learn", exact=True).wait_for()
    assert screen.wrong == []


def test_a_page_does_not_jump_while_a_knob_moves(open_screen):
    screen = open_screen("explore").drawn()
    screen.page.evaluate(WATCH)
    screen.slide("Threshold ε", -2).until(lambda: "ε = 0.03" in screen.page.locator("h2").first.inner_text())
    assert screen.page.evaluate("window.shifted") <= MOST_SHIFT
