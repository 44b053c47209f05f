"""Files are short; those that are not say why in their first line."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
LONG: dict[str, str] = {}


def test_no_file_has_more_than_250_lines_without_a_reason() -> None:
    files = [*(ROOT / "pipeline").rglob("*.py"), *(ROOT / "workflow/rules").glob("*.smk"), ROOT / "Snakefile"]
    texts = {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in files}
    assert {name for name, text in texts.items() if text.count("\n") > 250} == LONG.keys()
    for name, reason in LONG.items():
        assert reason in texts[name].split("\n")[0]
