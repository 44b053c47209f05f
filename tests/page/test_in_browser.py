"""The results page in a real browser. Without one, these tests are skipped."""

import io
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from browser import CHROMIUM, DRIVER, MISSING, errors_of, requests_of, resize, start
from PIL import Image
from pymatgen.core import Composition, Structure
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from small_results import SmallResults

from pipeline.config.loading import load_config
from pipeline.inspect.server import HOST, Page, new_server
from pipeline.store.atomic import write_json
from pipeline.store.places import Place

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=MISSING)
WIDE, NARROW = 1400, 360
PATIENCE = 60.0  # seconds


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    driver = start(tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Chrome, small: SmallResults) -> Chrome:
    """The page, freshly loaded and wide; earlier messages are forgotten."""
    resize(browser, WIDE)
    browser.get("about:blank")  # or a download of the last test could still be under way in the page
    errors_of(browser), requests_of(browser)
    browser.get((small.folder / "report/index.html").as_uri())
    until(lambda: browser.find_elements(By.ID, "text"))
    return browser


def until(true: Callable[[], object]) -> None:
    """Wait until something is true."""
    for _ in range(int(PATIENCE / 0.1)):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError("not in time")


def seen(page: Chrome, selector: str) -> WebElement:
    """Return an element, scrolled into view."""
    found = page.find_element(By.CSS_SELECTOR, selector)
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
    return found


def picture(found: WebElement) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(found.screenshot_as_png)).convert("RGB")).astype(int)


def crystal(page: Chrome) -> WebElement:
    """Return the frame of the generated crystal, once it is drawn."""
    frame = seen(page, "#materials .crystal")
    until(lambda: frame.find_elements(By.TAG_NAME, "canvas"))
    until(lambda: len(np.unique(picture(frame).reshape(-1, 3), axis=0)) > 50)
    return frame


def visible_rows(page: Chrome) -> list[WebElement]:
    return [row for row in page.find_elements(By.CSS_SELECTOR, ".crystals tbody tr") if row.is_displayed()]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_it_loads_and_draws_everything_without_errors_or_network(page: Chrome, width: int) -> None:
    resize(page, width)
    plots = page.find_elements(By.CSS_SELECTOR, ".plot")
    assert len(plots) > 8
    for place in plots:
        page.execute_script("arguments[0].scrollIntoView()", place)
        until(lambda place=place: place.find_elements(By.CSS_SELECTOR, "svg.main-svg"))
    crystal(page)
    assert errors_of(page) == []
    assert {address.partition(":")[0] for address in requests_of(page)} == {"file"}
    wide, room = page.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= room == width, "nothing sticks out"


def test_a_table_is_sorted_by_its_headings_with_mouse_and_keyboard(page: Chrome) -> None:
    heading = seen(page, "#checkerboard thead th:nth-child(2)")

    def values() -> list[float]:
        cells = page.find_elements(By.CSS_SELECTOR, "#checkerboard .scrolls:first-child tbody td:nth-child(2)")
        return [float(cell.get_attribute("data-sort") or "nan") for cell in cells]

    known = sorted(value for value in values() if value == value)
    assert len(known) == 3
    heading.click()
    until(lambda: heading.get_attribute("aria-sort") == "ascending" and values()[:3] == known)
    heading.send_keys(Keys.ENTER)
    until(lambda: heading.get_attribute("aria-sort") == "descending" and values()[:3] == known[::-1])


def test_crystals_are_filtered_by_formula_run_and_energy(page: Chrome) -> None:
    crystal(page)
    formulas = [row.find_elements(By.TAG_NAME, "td")[1].text for row in visible_rows(page)]
    assert len(formulas) == 3
    first = formulas[0]
    box = seen(page, "#materials input[type=search]")
    box.send_keys(first)
    until(lambda: [row.find_elements(By.TAG_NAME, "td")[1].text for row in visible_rows(page)] == [first])
    assert "1 of 3 crystals" in page.find_element(By.CSS_SELECTOR, ".gallery output").text
    box.clear()
    box.send_keys("Xe")
    until(lambda: visible_rows(page) == [])


def test_a_crystal_turns_by_the_keyboard_and_with_the_mouse(page: Chrome) -> None:
    frame = crystal(page)
    before = picture(frame)
    assert np.abs(picture(frame) - before).sum() == 0, "it stands still"
    frame.send_keys(Keys.ARROW_RIGHT)
    until(lambda: np.abs(picture(frame) - before).sum() > 0)
    turned = picture(frame)
    canvas = frame.find_element(By.TAG_NAME, "canvas")
    ActionChains(page).click_and_hold(canvas).move_by_offset(60, 20).release().perform()
    until(lambda: np.abs(picture(frame) - turned).sum() > 0)


def test_the_slider_leads_from_the_generated_to_the_relaxed_crystal(page: Chrome) -> None:
    crystal(page)
    frame = page.find_elements(By.CSS_SELECTOR, "#materials .crystal")[1]
    slider = seen(page, "#materials .relaxation input")
    said = page.find_element(By.CSS_SELECTOR, "#materials .relaxation output")
    until(lambda: said.text == "step 3 of 3, largest force 0.01 eV/Å")
    relaxed = picture(frame)
    slider.send_keys(Keys.HOME)
    until(lambda: said.text == "step 0 of 3, largest force 1.5 eV/Å")
    until(lambda: np.abs(picture(frame) - relaxed).sum() > 0)
    slider.send_keys(Keys.END)
    until(lambda: np.abs(picture(frame) - relaxed).sum() == 0)


@pytest.mark.parametrize("part, ending", [("as generated", ""), ("after relaxation", "-relaxed")])
def test_a_cif_file_is_downloaded_and_can_be_parsed(page: Chrome, part: str, ending: str) -> None:
    crystal(page)
    chosen = page.find_element(By.CSS_SELECTOR, "tr[aria-current] th").text
    formula = page.find_element(By.CSS_SELECTOR, "tr[aria-current] td:nth-of-type(2)").text
    file = Path(page.capabilities["chrome"]["userDataDir"]).parent / f"downloads/{chosen}{ending}.cif"
    seen(page, "#materials .gallery").find_element(By.XPATH, f".//button[.='CIF {part}']").click()
    until(file.is_file)
    assert Structure.from_file(file).composition == Composition(formula)


def test_the_slider_moves_probability_along_the_path(page: Chrome) -> None:
    slider = seen(page, "#checkerboard .path input[type=range]")
    drawn = "return document.querySelector('#checkerboard .path .plot').data?.[0].y"
    until(lambda: page.execute_script(drawn))
    slider.send_keys(Keys.END)
    said = page.find_element(By.CSS_SELECTOR, "#checkerboard .path output")
    until(lambda: said.text == "t = 1.00")
    assert max(page.execute_script(drawn)) == 1, "at the end all probability is on the data"
    slider.send_keys(Keys.ARROW_LEFT)
    until(lambda: said.text == "t = 0.96")
    assert sorted(page.execute_script(drawn))[-2:] == [0.04, 0.96]


def test_a_number_says_where_it_comes_from(page: Chrome) -> None:
    number = page.find_element(By.CSS_SELECTOR, "#checkerboard tbody td button.plain")
    seen(page, "#checkerboard tbody td button.plain").send_keys(Keys.ENTER)
    dialog = page.find_element(By.ID, "record")
    until(dialog.is_displayed)
    text = dialog.text
    assert f"total variation: {number.text}" in text
    for part in ("seed", "code", "made", "machine", "scores/checkerboard/metric.json", "--experiment checkerboard"):
        assert part in text, part
    dialog.send_keys(Keys.ESCAPE)
    until(lambda: not dialog.is_displayed())


def test_it_is_light_or_dark(page: Chrome) -> None:
    def background() -> str:
        return page.execute_script("return getComputedStyle(document.documentElement).backgroundColor")

    before = background()
    page.find_element(By.ID, "theme").click()
    until(lambda: background() != before)
    page.find_element(By.ID, "theme").click()
    until(lambda: background() == before)


def test_a_run_at_work_is_watched_while_it_goes_on(browser: Chrome, small: SmallResults, tmp_path: Path) -> None:
    made = tmp_path / "results"
    history = Place.TRAINING_HISTORY.under(made, experiment="checkerboard", name="metric")
    history.parent.mkdir(parents=True)
    history.write_text("step,loss,validation_loss\n4,2.5,\n8,2.25,2.0\n")
    (tmp_path / "log").write_text("training: 8/20 steps (40%)\n")
    job = {"rule": "train", "name": "train checkerboard metric", "outputs": ["nowhere"], "benchmark": ""}
    jobs = [job | {"log": str(tmp_path / "log")}, job | {"log": "", "outputs": [str(history)]}]
    planned = {"host": socket.gethostname(), "process": os.getpid(), "jobs": jobs}
    write_json(Place.PLANNED.under(made), planned | {"started": psutil.Process().create_time() + 0.1})
    with new_server(Page(load_config(small.config), made, tmp_path / "page"), 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        errors_of(browser)
        browser.get(f"http://{HOST}:{server.server_address[1]}/")
        live = browser.find_element(By.ID, "live")
        until(lambda: "1 of 2 jobs of the last run are done." in live.text)
        assert "train checkerboard metric: training: 8/20 steps (40%)" in live.text
        drawn = "return document.querySelector('#live .plot')?.data?.[0].y"
        until(lambda: browser.execute_script(drawn) == [2.5, 2.25])
        history.write_text(history.read_text() + "12,2.125,\n")
        until(lambda: browser.execute_script(drawn) == [2.5, 2.25, 2.125])
        assert errors_of(browser) == []
        browser.get("about:blank")
        server.shutdown()
        thread.join()


def test_texts_can_be_read_one_after_the_other(page: Chrome) -> None:
    text = seen(page, "#text .text")
    first = text.text
    assert first
    page.find_element(By.XPATH, "//section[@id='text']//button[.='Next']").click()
    until(lambda: page.find_element(By.CSS_SELECTOR, "#text .text").text != first)
