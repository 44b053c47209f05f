"""Downloads from an address: resumable, with retries and a progress bar."""

import http.client
import logging
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from tqdm import tqdm

from pipeline.fetch.checks import fault_in
from pipeline.fetch.copies import CHUNK, Request, SourceError
from pipeline.fetch.package import ARCHIVES, copy_member
from pipeline.fetch.resource import Archive, FetchError, Resource
from pipeline.store.locks import exclusive

logger = logging.getLogger(__name__)

TIMEOUT = 30.0  # seconds without a single byte
RETRIES = 3  # in a row, without a single new byte
BACKOFF = 1.0  # seconds before the first retry, doubled for each further one
LONGEST_WAIT = 60.0

_TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


class TransientError(FetchError):
    """A failed download that is worth another attempt; ``wait`` is the pause that the server asked for, if any."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


def obtain_address(resource: Resource, target: Path, request: Request) -> None:
    """Download the file from the first address that has the right bytes, or an archive that has it as a member."""
    if not resource.has_address:
        advice = f"if you can get the file from its origin ({resource.origin}), put it into a mirror"
        raise SourceError(["no address is known"], advice)
    reasons = []
    for address in resource.addresses:
        try:
            _download(address, resource, target, request.progress)
            return
        except FetchError as error:
            reasons.append(f"{address}: {error}")
    for archive in resource.archives:
        try:
            _take_member(archive, resource, target, request)
            return
        except SourceError as error:
            reasons += error.reasons
        except FetchError as error:
            reasons.append(f"{archive.member} of {archive.file}: {error}")
    advice = "check the network and the proxy (https_proxy); a download that was cut short goes on where it stopped"
    raise SourceError(reasons, advice)


def _take_member(archive: Archive, resource: Resource, target: Path, request: Request) -> None:
    """Download an archive, unless another of its members has been fetched before, and copy the member out of it."""
    whole = Resource(
        "archives", archive.file, archive.sha256, resource.origin, archive.size, addresses=archive.addresses
    )
    path = whole.path(request.cache / ARCHIVES)
    path.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(path.with_name(f".{path.name}.lock"), f"downloading {archive.file}"):
        if not path.is_file() or fault_in(path, whole):
            obtain_address(whole, path, request)
    copy_member(path, archive.member, resource, target)


def _download(address: str, resource: Resource, target: Path, progress: bool) -> None:
    part = target.with_name(target.name + ".part")
    while True:
        if resource.size is not None and _size(part) > resource.size:
            part.unlink()
        resumed = part.exists()
        # A process killed between the last byte and the renaming leaves a complete file.
        if not resumed or fault_in(part, resource):
            _transfer_with_retries(address, part, resource, progress)
        fault = fault_in(part, resource)
        if not fault:
            os.replace(part, target)
            return
        part.unlink()
        if not resumed:
            raise FetchError(f"{fault}; the download was deleted")
        logger.warning("%s: the partial download did not fit the rest; starting anew", resource.key)


def _transfer_with_retries(address: str, part: Path, resource: Resource, progress: bool) -> None:
    furthest, failures = _size(part), 0
    while True:
        try:
            _transfer(address, part, resource, progress)
            return
        except TransientError as error:
            # Only bytes beyond the furthest point count as progress: a server may start anew each time.
            if _size(part) > furthest:
                furthest, failures = _size(part), 0
            failures += 1
            if failures > RETRIES:
                raise FetchError(f"{error} (after {RETRIES} retries)") from error
            wait = BACKOFF * 2 ** (failures - 1) if error.wait is None else error.wait
            logger.info("%s: %s; trying again in %.0f s", resource.key, error, wait)
            time.sleep(min(wait, LONGEST_WAIT))


def _transfer(address: str, part: Path, resource: Resource, progress: bool) -> None:
    """Add the missing bytes to ``part``, or write all of them when the server cannot send a range."""
    offset = _size(part)
    headers = {"User-Agent": "kinoflow"} | ({"Range": f"bytes={offset}-"} if offset else {})
    try:
        response = urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=TIMEOUT)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
            if error.code == 416 and offset > 0:
                part.unlink()
                _transfer(address, part, resource, progress)
                return
        raise _explain(error, address) from error
    with response:
        start, total = _extent(response)
        if start != offset:
            if start != 0:
                raise FetchError(f"the server sent bytes from {start} instead of {offset}")
            logger.info("%s: the server cannot resume; starting anew", resource.key)
            offset = 0
        total = resource.size if total is None else total
        bar = tqdm(total=total, initial=offset, unit="B", unit_scale=True, desc=resource.key, disable=not progress)
        with part.open("ab" if offset else "wb") as output, bar:
            received = offset
            while chunk := _read(response, address):
                received += len(chunk)
                try:
                    resource.check_size(received)
                except FetchError as error:
                    part.unlink()
                    raise FetchError(f"{error}; the download was deleted") from error
                output.write(chunk)
                output.flush()  # so that a killed process loses nothing that has arrived
                bar.update(len(chunk))
    if total is not None and received < total:
        raise TransientError(f"the connection ended after {received} of {total} bytes")


def _extent(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """Return where a response's body starts in the file, and the size of the whole file if the server gives it."""
    if response.status == 206:
        span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if span is None:
            raise FetchError(f"the server sent a Content-Range {response.headers.get('Content-Range')!r}")
        return int(span[1]), None if span[2] == "*" else int(span[2])
    length = response.headers.get("Content-Length")
    return 0, int(length) if length is not None else None


def _read(response: http.client.HTTPResponse, address: str) -> bytes:
    try:
        return response.read1(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _explain(error, address) from error


def _explain(error: OSError | http.client.HTTPException, address: str) -> FetchError:
    """Return the error for a failed connection: a TransientError if another attempt may help."""
    host = urlsplit(address).hostname
    if isinstance(error, urllib.error.HTTPError):
        message = f"HTTP {error.code} {error.reason}"
        if error.code in _TRANSIENT_STATUS:
            after = error.headers.get("Retry-After", "")
            return TransientError(message, float(after) if after.isdigit() else None)
        return FetchError(message)
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return FetchError(f"the certificate of {host} is not trusted: {cause.verify_message}")
    if isinstance(cause, socket.gaierror):
        message = f"could not resolve host {host} ({cause.strerror})"
        return TransientError(message) if cause.errno == socket.EAI_AGAIN else FetchError(message)
    if isinstance(cause, TimeoutError):
        return TransientError(f"no answer from {host} within {TIMEOUT:.0f} s")
    if isinstance(cause, ConnectionRefusedError):
        return TransientError(f"{host} refused the connection")
    return TransientError(f"connection to {host} failed: {cause or type(cause).__name__}")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
