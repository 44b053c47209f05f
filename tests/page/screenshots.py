"""Pictures of a results page for the README: `python tests/page/screenshots.py results/demo/report examples`."""

import sys
import tempfile
import time
from pathlib import Path

from browser import resize, start
from PIL import Image
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

WIDE, NARROW, HIGH = 1280, 400, 800
SECONDS = 6.0  # until plots and crystals are drawn
COLOURS = 256


def main() -> None:
    """Write a wide, a dark and a narrow picture."""
    report, target = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        driver = start(Path(folder))
        try:
            driver.get((report / "index.html").resolve().as_uri())
            take(driver, "#materials", WIDE, target / "page_table.png")
            take(driver, "#text", NARROW, target / "page_narrow.png")
            driver.execute_script("document.getElementById('theme').click()")
            take(driver, "#materials .gallery .scrolls", WIDE, target / "page_gallery.png")
        finally:
            driver.quit()


def take(driver: Chrome, selector: str, width: int, file: Path) -> None:
    """Write a picture of what begins with an element, with few colours so that it is small."""
    resize(driver, width, HIGH)
    for _ in range(2):  # what is drawn on the way moves the rest
        found = driver.find_element(By.CSS_SELECTOR, selector)
        driver.execute_script("arguments[0].scrollIntoView()", found)
        time.sleep(SECONDS)
    driver.save_screenshot(str(file))
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(COLOURS).save(file, optimize=True)


if __name__ == "__main__":
    main()
