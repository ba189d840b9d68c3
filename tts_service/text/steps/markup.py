"""Marks of Markdown and HTML within a line, of which only the words are spoken: step `markup`. Pure.

What looks like a mark and has no partner is text, and left to the step `symbols`.
"""

from __future__ import annotations

import html
import re

from tts_service.text.languages import Language
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

_TAGS = (
    "a|abbr|article|aside|b|blockquote|body|br|center|cite|code|dd|del|details|div|dl|dt|em|figure|font|footer|h[1-6]|"
    "head|header|hr|html|i|img|ins|kbd|li|main|mark|nav|ol|p|pre|q|s|section|small|span|strike|strong|sub|summary|sup|"
    "table|tbody|td|tfoot|th|thead|title|tr|tt|u|ul|var|speak|break|prosody|emphasis|say-as|phoneme|voice"
)
_TAG = re.compile(
    rf"</?(?:{_TAGS})(?:\s+[\w:\-]{{1,40}}=(?:\"[^\"<>]{{0,400}}\"|'[^'<>]{{0,400}}'|[^\s<>\"']{{1,400}})){{0,20}}\s*/?>",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.{0,2000}?-->")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,12}\d{0,2});", re.IGNORECASE)

_IMAGE = re.compile(r"(!\[)([^\[\]]{0,400})(\]\([^()\s]{0,2000}(?:\s+\"[^\"]{0,400}\")?\))")
_LINK = re.compile(r"(?<!\[)(\[)([^\[\]]{1,400})(\]\((?!/[^)\s]*/\))[^()\s]{1,2000}(?:\s+\"[^\"]{0,400}\")?\))")
_REFERENCE = re.compile(r"(\[)([^\[\]]{1,400})(\]\[[^\[\]]{0,100}\])")
_AUTOLINK = re.compile(r"(<)((?:https?://|mailto:)[^<>\s]{1,2000})(>)")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]{1,40}\]:?")
_ESCAPE = re.compile(r"(\\)([\\`*_{}\[\]()#+\-.!|~>])()")
_CODE = re.compile(r"(`{1,3})([^`]{1,400})(`{1,3})")
_STRONG = re.compile(r"(\*\*\*|\*\*|~~|==)(?=\S)([^*~=]{1,1000}?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])(\*)(?=[^\s*])([^*]{1,1000}?)(?<=[^\s*])\*(?![\w*])")
_UNDERLINE = re.compile(r"(?<!\w)(__|_)(?=[^\s_])([^_]{1,1000}?)(?<=[^\s_])\1(?!\w)")
_PAIRED = (_STRONG, _EMPHASIS, _UNDERLINE)


def _apply(passage: Passage, language: Language) -> Passage:
    if "<" in passage.text or "&" in passage.text:
        passage = passage.sub("markup", _COMMENT, "", final=False)
        passage = _without(passage, [_AUTOLINK])
        passage = passage.sub("markup", _TAG, _space_for_block, final=False)
        passage = passage.sub("markup", _ENTITY, _character, final=False)
    if "[" in passage.text:
        passage = passage.sub("markup", _FOOTNOTE, "", final=False)
        passage = _without(passage, [_IMAGE, _LINK, _REFERENCE])
    passage = _without(passage, [_ESCAPE] if "\\" in passage.text else [])
    passage = _without(passage, [_CODE] if "`" in passage.text else [])
    # Twice: emphasis within emphasis.
    for _ in range(2):
        passage = _without(passage, _PAIRED)
    return passage


def _without(passage: Passage, patterns: list[re.Pattern[str]] | tuple[re.Pattern[str], ...]) -> Passage:
    """Take the marks out and leave what is between them, with its place."""
    for pattern in patterns:
        changes = []
        for match in pattern.finditer(passage.text):
            inner = match.span(2)
            if 1 not in passage.fixed[slice(*match.span())]:
                changes += [(match.start(), inner[0], ""), (inner[1], match.end(), "")]
        changes = [change for change in changes if change[0] < change[1]]
        if changes:
            passage = passage.replaced("markup", changes, final=False)
    return passage


def _space_for_block(match: re.Match[str]) -> str:
    """Words on both sides of <b> are one word, on both sides of <td> two."""
    name = re.sub(r"[</>\s].*", "", match[0].lstrip("</")).lower()
    return (
        ""
        if name in ("a", "abbr", "b", "code", "em", "font", "i", "mark", "s", "small", "span", "strong", "u")
        else " "
    )


def _character(match: re.Match[str]) -> str | None:
    character = html.unescape(match[0])
    return None if character == match[0] else " " if character in ("\n", "\r", "\x00") else character


MARKUP = Step("markup", _apply)
