"""Articles of WikiText: cutting the text into them changes neither its characters nor its tokens."""

from pathlib import Path

from pipeline.text.corpora.wikitext2 import FILES, Options, articles, documents
from pipeline.text.detokenise import wikitext
from pipeline.text.tokenizer import learnt

LINES = (
    *(
        "",
        "= First =",
        "",
        "A line , with = signs = in it .",
        "= not a title =",
        "= = Section = =",
        "",
        "Text @-@ only .",
    ),
    *("", "= Second ( film ) =", "", "It ends here ."),
    *("", "= Third =", "", "= = Part = =", "", "Last line ."),
)
RAW = "".join(f" {line} \n" if line else " \n" for line in LINES)


def test_articles_begin_with_their_titles() -> None:
    found = list(articles(RAW.removesuffix("\n").split("\n")))
    assert [document.text.split("\n")[1] for document in found] == ["= First =", "= Second (film) =", "= Third ="]
    assert "= not a title =" in found[0].text


def test_words_are_those_of_the_corpus_and_one_for_each_line() -> None:
    found = list(articles(RAW.removesuffix("\n").split("\n")))
    assert sum(document.words or 0 for document in found) == len(RAW.split()) + RAW.count("\n")


def test_cutting_into_articles_changes_no_token(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(RAW, "utf-8")
    texts = [document.text for document in documents(Options(), tmp_path, "test")]
    whole = "".join(f"{wikitext(line)}\n" for line in RAW.removesuffix("\n").split("\n"))
    assert "".join(texts) == whole
    tokenizer = learnt([whole + "\n\n\n\n"] * 20, 280)
    assert any(len(tokenizer.encode([text])[0]) == 1 for text in ("\n\n", "\n\n\n"))  # or the test could not fail
    assert sum(map(len, tokenizer.encode(texts))) == len(tokenizer.encode([whole])[0])


def test_lines_without_a_title_are_one_article() -> None:
    (document,) = articles(["Some text .", "", "More ."])
    assert document.text == "Some text.\n\nMore.\n"
    assert list(articles([])) == []
