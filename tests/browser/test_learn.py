"""The boundary that can be dragged: by mouse and by keys, without losing the keyboard's place."""

from __future__ import annotations

BOUND = "Bound at look 2"
FOCUS = "() => document.activeElement.getAttribute('aria-label')"


def test_bounds_are_dragged_by_mouse_and_moved_by_keys(open_screen):
    screen = open_screen("learn?part=drag+the+boundary").drawn()
    dot = screen.page.get_by_role("slider", name=BOUND)
    error = screen.page.get_by_test_id("stMetricValue").first

    before, place = error.inner_text(), dot.bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    screen.page.mouse.move(x, y)
    screen.page.mouse.down()
    screen.page.mouse.move(x, y + 15, steps=5)
    screen.page.mouse.up()
    screen.until(lambda: error.inner_text() != before).settle()
    dragged = float(dot.get_attribute("aria-valuenow"))
    assert 0.5 < dragged < 1.5  # where each step changes the error by a digit

    dot.focus()
    for presses in (1, 2, 3):
        before = error.inner_text()
        screen.page.keyboard.press("PageUp" if presses == 1 else "ArrowUp")
        screen.until(lambda before=before: error.inner_text() != before).settle()
        assert screen.page.evaluate(FOCUS) == BOUND
    assert abs(float(dot.get_attribute("aria-valuenow")) - (dragged + 0.6)) < 1e-6

    screen.press("Equal bounds, ε = 0.01").until(lambda: dot.get_attribute("aria-valuenow") == "2.33")
    assert screen.wrong == [] and screen.alarms() == []
