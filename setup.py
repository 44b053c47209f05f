"""The packages and the data of an installation; all else is in pyproject.toml."""

from pathlib import Path

from setuptools import find_packages, setup

DATA = [
    *("crystals/reference/*.json", "crystals/reference/energies/*.parquet"),
    *("store/paper.yaml", "report/columns.yaml", "page/site/*", "page/vendor/*"),
]
TOPS = ("config", "envs", "weights", "workflow")  # pipeline/store/shipped.py says where they lie
folders = [folder for top in TOPS for folder in (Path(top), *Path(top).rglob("*/")) if folder.name != "__pycache__"]
shipped = {".".join(("pipeline", "project", *folder.parts)): str(folder) for folder in folders if folder.is_dir()}

setup(
    packages=[*find_packages(include=["kinoflow", "pipeline*", "snakemake_logger_plugin_kinoflow"]), *shipped],
    package_dir=shipped,
    package_data={name: ["*"] for name in shipped} | {"pipeline": DATA},
)
