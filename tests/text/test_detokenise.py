"""Detokenised sentences read as people would write them."""

import pytest

from pipeline.text.detokenise import lambada, one_billion_words, ptb, ptb_peers, wikitext


@pytest.mark.parametrize(
    "line, expected",
    [
        (" a guest @-@ starring role , in 2000 . \n", "a guest-starring role, in 2000."),
        (' about $ 10 @,@ 000 ( US $ 2 @.@ 3 million ) " at once " !', 'about $10,000 (US $2.3 million) "at once"!'),
        (" You don 't know what we 're doing , Boulter 's .", "You don't know what we're doing, Boulter's."),
        (
            ' the Beach Boys \' " Surfer Girl " , 712 – 770 ; he said – no',
            'the Beach Boys\' "Surfer Girl", 712–770; he said – no',
        ),
        (" 23 knots ( 43 km / h ; 26 mph ) at + 20 ° , 50 % [ sic ]", "23 knots (43 km/h; 26 mph) at +20°, 50% [sic]"),
        (" The ' T ' -shaped lift", "The 'T' -shaped lift"),
        (" = Robert Boulter = \n", "= Robert Boulter ="),
        (" = = = 2000 – 2005 = = = \n", "=== 2000–2005 ==="),
        (" \n", ""),
        (' an unmatched " stays', 'an unmatched " stays'),
    ],
)
def test_wikitext(line: str, expected: str) -> None:
    assert wikitext(line) == expected


@pytest.mark.parametrize(
    "line, expected",
    [
        ("mr. <unk> is n't the company 's chairman", "mr. <unk> isn't the company's chairman"),
        ("a loss of $ N million or N % of investors ' money", "a loss of $N million or N% of investors' money"),
        (r"the s&p N <unk> and\/or # N", "the s&p N <unk> and/or #N"),
    ],
)
def test_ptb(line: str, expected: str) -> None:
    assert ptb(line) == expected


@pytest.mark.parametrize(
    "line, expected",
    [
        (" mr. <unk> is n't the company 's chairman \n", "mr. ? isn't the company's chairman"),
        ("a loss of $ N million or N N % of investors ' money", "a loss of $1 million or 1 1 % of investors' money"),
        (r"the s&p N <unk> and\/or # N rose by N", "the s&p 1 ? and/or #1 rose by N"),
    ],
)
def test_ptb_as_the_peers_write_it(line: str, expected: str) -> None:
    assert ptb_peers(line) == expected


@pytest.mark.parametrize(
    "line, expected",
    [
        ('" I do n\'t know , " she said .', '"I don\'t know," she said.'),
        ("The U.S. spent $ 5.5 million ( 10 % ) -- why ?", "The U.S. spent $5.5 million (10%) -- why?"),
        ("Obama 's plan : the banks ' debts ...", "Obama's plan: the banks' debts..."),
    ],
)
def test_one_billion_words(line: str, expected: str) -> None:
    assert one_billion_words(line) == expected


def test_lambada_has_one_kind_of_quotation_marks() -> None:
    assert lambada("“I’ll go,” he said. ``Now.'' ") == '"I\'ll go," he said. "Now."'


@pytest.mark.parametrize("rule", [wikitext, ptb, one_billion_words])
def test_text_that_needs_nothing_stays_as_it_is(rule: object) -> None:
    sentence = "It's 3.5 km away, isn't it? The \"old\" road (closed) is open."
    assert callable(rule)
    assert rule(sentence) == sentence
