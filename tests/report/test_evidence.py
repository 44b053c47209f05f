"""Pages whose numbers are read from tables."""

from pathlib import Path

import pytest

from pipeline.report.evidence import EvidenceError, page_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    (tmp_path / "results/claims.csv").write_text("claim,steps,error\nfast,8,0.125\nfast,16,0.0625\nslow,8,none\n")
    return tmp_path


def page(root: Path, template: str) -> str:
    (root / "page.md").write_text(template)
    return page_of(root / "page.md", root)


def test_numbers_come_from_the_cell_that_is_named(tables: Path) -> None:
    template = '{{ cell("results/claims.csv", "error", claim="fast", steps=16) }} is about\n'
    template += '{{ number("results/claims.csv", "error", claim="fast", steps=8) | round(2) }}.\n'
    template += '{% for row in rows("results/claims.csv", claim="fast") %}{{ row.steps }} {% endfor %}\n'
    assert page(tables, template) == "0.0625 is about\n0.12.\n8 16 \n"


@pytest.mark.parametrize(
    "asked, message",
    [
        ('cell("results/claims.csv", "error", claim="fast")', "claims.csv: 2 rows have claim 'fast'; name one row"),
        ('cell("results/claims.csv", "error", claim="best")', "claims.csv: no row has claim 'best'"),
        ('cell("results/claims.csv", "eror", steps=16)', "has no column 'eror'; did you mean 'error'"),
        ('cell("results/nothing.csv", "error")', "nothing.csv: cannot be read .*make the table first"),
        ('number("results/claims.csv", "error", claim="slow")', "error of claim 'slow' is 'none', not a number"),
        ("numbr()", "page.md: 'numbr' is undefined"),
        ("cell(", "page.md, line 1: "),
    ],
)
def test_a_number_that_no_table_has_is_an_error_that_says_which(tables: Path, asked: str, message: str) -> None:
    with pytest.raises(EvidenceError, match=message):
        page(tables, f"{{{{ {asked} }}}}")


def test_the_page_of_this_project_has_the_numbers_of_its_tables() -> None:
    assert (ROOT / "docs/evidence.md").read_text() == page_of(ROOT / "docs/evidence.template.md", ROOT)
