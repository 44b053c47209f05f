"""A Chromium without a window, which keeps what it says and what it asks the network for."""

import json
import shutil
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
MISSING = "no chromium and chromedriver: `apt-get install chromium chromium-driver`, as root, or `make test` as root"
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def start(folder: Path) -> webdriver.Chrome:
    """Start a browser that keeps its profile and what it downloads in a folder."""
    options = Options()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    downloads = {"behavior": "allow", "downloadPath": str(folder / "downloads")}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", downloads)
    return driver


def resize(driver: webdriver.Chrome, width: int, height: int = 900) -> None:
    """Give the page a width, narrower than the least of a window if wanted."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def errors_of(driver: webdriver.Chrome) -> list[str]:
    """Return the errors that the page has reported since the last call."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def requests_of(driver: webdriver.Chrome) -> list[str]:
    """Return the addresses that the page has asked for since the last call."""
    messages: list[dict[str, Any]] = [
        json.loads(entry["message"])["message"] for entry in driver.get_log("performance")
    ]
    sent = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    return [address for address in sent if not address.startswith(("data:", "blob:"))]
