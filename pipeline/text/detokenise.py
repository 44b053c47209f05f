"""Text as people write it, from lines of words with spaces between them, the usual form of corpora.

Only spaces and the corpora's own signs change. All rules work within a line, so a text may be cut at line ends before
or after.
"""

import re

Rules = tuple[tuple[re.Pattern[str], str], ...]


def _rules(*pairs: tuple[str, str]) -> Rules:
    return tuple((re.compile(pattern), replacement) for pattern, replacement in pairs)


_END = r"(?=\s|$)"

_CONTRACTIONS = _rules((rf" (n't|'(?:s|S|t|d|m|re|ve|ll)){_END}", r"\1"))
_NUMBERS = _rules(
    (rf"(?<=\d) ([%°]){_END}", r"\1"),
    (r"(?<!\S)((?:[A-Z]{1,2})?[$£€#]) (?=\d)", r"\1"),
)
_QUOTES = _rules(
    (rf'(?<!\S)" (.*?) "{_END}', r'"\1"'),
    (rf"(?<=s) '{_END}", "'"),  # the ships ' crew
    (rf"(?<!\S)' (.*?) '{_END}", r"'\1'"),
)
_PUNCTUATION = _rules(
    (r""" ([,.;:!?)\]}]|\.\.\.)(?=[\s"'),\]}]|$)""", r"\1"),
    (r"""(?<![^\s"'])([(\[{]) """, r"\1"),
)
_ONE_BILLION = _CONTRACTIONS + _NUMBERS + _QUOTES + _PUNCTUATION  # quotes first: what they enclose ends in punctuation
_WIKITEXT = (
    _rules(
        (r" @([-,.])@ ", r"\1"),  # numbers and compounds that were taken apart
        (r"(?<=\d) ([–/]) (?=\d)", r"\1"),
        (rf" / (?=[a-z]{{1,3}}\d?{_END})", "/"),  # km / h
        (r"(?<!\S)([−+]) (?=\d)", r"\1"),
    )
    + _ONE_BILLION
)
_PTB = _rules(
    (r"\\/", "/"),
    (r"(?<!\S)([$#]) (?=N)", r"\1"),
    (rf"(?<=N) %{_END}", "%"),
    (rf"(?<=s) '{_END}", "'"),
    *((rule.pattern, replacement) for rule, replacement in _CONTRACTIONS),
)
_PTB_PEERS = _rules(
    (" 's", "'s"),
    ("s ' ", "s' "),
    (" n't", "n't"),
    (r"\\/", "/"),
    (" N(?= )", " 1"),
    (r"([$#]) (?=1)", r"\1"),
    ("<unk>", "?"),
)
_LAMBADA = _rules((r"``|''|[“”]", '"'), (r"[‘’]", "'"))
_HEADING = re.compile(r"((?:= )+)(.*?)((?: =)+)")


def wikitext(line: str) -> str:
    """Return a line of WikiText; a heading keeps its signs, `== Life ==`."""
    line = line.strip()
    if heading := _HEADING.fullmatch(line):
        before, title, after = heading.groups()
        return f"{before.replace(' ', '')} {_apply(_WIKITEXT, title)} {after.replace(' ', '')}"
    return _apply(_WIKITEXT, line)


def one_billion_words(line: str) -> str:
    """Return a sentence of the One Billion Word benchmark."""
    return _apply(_ONE_BILLION, line.strip())


def ptb(line: str) -> str:
    """Return a sentence of the Penn Treebank, which has no capitals, N for numbers and <unk> for rare words."""
    return _apply(_PTB, line.strip())


def ptb_peers(line: str) -> str:
    """Return the sentence as in SEDD's and MDLM's evaluations: 1 for every N between spaces, ? for a rare word."""
    return _apply(_PTB_PEERS, line.strip())


def lambada(text: str) -> str:
    """Return a passage of LAMBADA with plain quotation marks; passages differ only in these."""
    return _apply(_LAMBADA, text.strip())


def _apply(rules: Rules, line: str) -> str:
    for pattern, replacement in rules:
        line = pattern.sub(replacement, line)
    return line
