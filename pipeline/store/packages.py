"""Whether a package is installed in a version that works, and how to get it."""

from importlib.metadata import PackageNotFoundError, version

from packaging.requirements import Requirement


def fault_of(requirement: str) -> str:
    """Return why a requirement such as `orb-models>=0.5,<0.6` is not met and how to meet it, or ''."""
    wanted = Requirement(requirement)
    try:
        installed = version(wanted.name)
    except PackageNotFoundError:
        return f'{wanted.name} is not installed; run `pip install "{requirement}"`'
    if wanted.specifier.contains(installed, prereleases=True):
        return ""
    return f'{wanted.name} {installed} is installed, {wanted.specifier} is needed; run `pip install "{requirement}"`'
