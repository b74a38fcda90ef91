"""Screenshots of the dashboard for the README, light and dark: python -m docs.pictures.make (make pictures)."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image

from tests.browser.driving import Screen, chromium
from tests.serving import running

PAGES = {
    "start": "",
    "explore": "explore?eps=0.02&pin=12214,500,0.05,0.5,1.0",
    "design": "design",
    "boundary": "further?topic=boundary",
}
SIZE = {"width": 1280, "height": 900}
COLOURS = 128  # of the palette: keeps a picture below 200 kB


def main() -> None:
    with chromium() as (browser, reason):
        if browser is None:
            sys.exit(f"no pictures: {reason}")
        with running() as server:
            for name, path in PAGES.items():
                screen = Screen(browser, server.address, **SIZE).go(path).drawn()
                for theme in ("light", "dark"):
                    screen.theme(dark=theme == "dark").settle(1500)
                    save(screen.page.screenshot(), Path(__file__).with_name(f"{name}-{theme}.png"))
                screen.close()


def save(picture: bytes, path: Path) -> None:
    """With few colours, and small."""
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
