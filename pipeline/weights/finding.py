"""Where weights are, and go: in the project's folder `weights`, in any folder, or on the Hugging Face Hub."""

import os
from pathlib import Path

from pipeline.errors import KinoflowError, did_you_mean
from pipeline.store import shipped
from pipeline.weights.folder import CARD, CONFIG, INDEX, NETWORK, TOKENIZER, TOKENS

SHIPPED = shipped.SHIPPED / "weights"
HUB = "hub:"
FILES = [INDEX, CARD, NETWORK, TOKENS, CONFIG, TOKENIZER]


def folder_of(name: str) -> Path:
    """Return the folder of weights: those that come with the project by their name, a path, or `hub:user/name`."""
    if name.startswith(HUB):
        return _from_hub(name)
    for folder in (Path(name), SHIPPED / name):
        if (folder / INDEX).is_file():
            return folder
    if Path(name).is_dir() or os.sep in name:
        raise KinoflowError(f"--weights {name}: no folder with {INDEX}; give one from `export-weights`")
    known = sorted(file.parent.name for file in SHIPPED.glob(f"*/{INDEX}"))
    raise KinoflowError(f"--weights {name}: no such weights; {did_you_mean(name, known)}, a folder, or {HUB}user/name")


def _from_hub(name: str) -> Path:
    """Download a repository `hub:user/name` or `hub:user/name@revision`, unless it is in the cache of the Hub."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    repository, _, revision = name.removeprefix(HUB).partition("@")
    if ".." in revision:  # it becomes part of a path in the cache
        raise KinoflowError(f"--weights {name}: {revision!r} is no commit, tag or branch; name one")
    try:
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=FILES))
    except (*HfHubHTTPError.__bases__, ValueError) as error:  # type: ignore[misc]  # HTTP, network; wrong names
        why = str(error).strip().splitlines()[0]
        fix = "check the name and the network (HF_ENDPOINT, https_proxy), or give the path of a copy"
        raise KinoflowError(f"--weights {name}: cannot be had from the Hub ({why}); {fix}") from error


def publish(folder: Path, repository: str) -> str:
    """Upload a folder of weights to `user/name` on the Hub, in one commit, and return the address of the commit."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        api = HfApi()
        api.create_repo(repository, exist_ok=True)
        message = f"Upload {folder.name}"
        return api.upload_folder(
            repo_id=repository, folder_path=folder, allow_patterns=FILES, commit_message=message
        ).commit_url
    except (*HfHubHTTPError.__bases__, ValueError) as error:  # type: ignore[misc]  # HTTP, network; wrong names
        why = str(error).strip().splitlines()[0]
        fix = f"log in with `hf auth login`, check the name, then run `hf upload {repository} {folder}`"
        raise KinoflowError(f"--hub {repository}: {folder} is written, but not uploaded ({why}); {fix}") from error
