"""What differs between languages where numbers, dates and symbols are read: a table for each. Pure data."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, field


# Compared by identity: language_of makes one of each.
@dataclass(frozen=True, eq=False)
class Language:
    """One language's words for what is written in digits and symbols."""

    code: str
    """ISO 639-1."""
    region: str = ""
    decimal: str = ","
    """The mark before decimals; the other of . and , groups thousands."""
    point: str = ""
    """The word for it; empty: no numbers are read in this language."""
    minus: str = ""
    plus: str = ""
    times: str = ""
    by: str = ""
    equals: str = ""
    percent: str = ""
    and_: str = ""
    at: str = ""
    dot: str = ""
    slash: str = ""
    dash: str = ""
    underscore: str = ""
    to: str = ""
    """Between the ends of a range."""
    degrees: str = ""
    number: str = ""
    hashtag: str = ""
    section: str = ""
    less: str = ""
    greater: str = ""
    per: str = ""
    date: str = "{day} {month} {year}"
    first: str = ""
    """The first day of a month, where its name is no cardinal."""
    clock: str = "{hour} {minute}"
    full_hour: str = "{hour}"
    price: str = "{whole} {unit} {part}"
    """A price with a fraction."""
    money: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Singular and plural by currency, where people do not use its official name."""

    @property
    def locale(self) -> str:
        """As Babel writes it."""
        return f"{self.code}_{self.region}" if self.region in ("US", "GB") and self.code == "en" else self.code

    @property
    def reads_numbers(self) -> bool:
        return bool(self.point)


_TABLES = {
    "en": Language(
        "en",
        decimal=".",
        point="point",
        minus="minus",
        plus="plus",
        times="times",
        by="by",
        equals="equals",
        percent="percent",
        and_="and",
        at="at",
        dot="dot",
        slash="slash",
        dash="dash",
        underscore="underscore",
        to="to",
        degrees="degrees",
        number="number",
        hashtag="hashtag",
        section="section",
        less="less than",
        greater="greater than",
        per="per",
        date="{month} {day}, {year}",
        full_hour="{hour} o'clock",
        price="{whole} {unit} and {part} {cents}",
        money={
            "USD": ("dollar", "dollars"),
            "GBP": ("pound", "pounds"),
            "EUR": ("euro", "euros"),
            "JPY": ("yen", "yen"),
            "INR": ("rupee", "rupees"),
            "KRW": ("won", "won"),
            "RUB": ("ruble", "rubles"),
        },
    ),
    "de": Language(
        "de",
        point="Komma",
        minus="minus",
        plus="plus",
        times="mal",
        by="mal",
        equals="gleich",
        percent="Prozent",
        and_="und",
        at="ät",
        dot="Punkt",
        slash="Schrägstrich",
        dash="Strich",
        underscore="Unterstrich",
        to="bis",
        degrees="Grad",
        number="Nummer",
        hashtag="Hashtag",
        section="Paragraph",
        less="kleiner als",
        greater="größer als",
        per="pro",
        clock="{hour} Uhr {minute}",
        full_hour="{hour} Uhr",
        money={"USD": ("Dollar", "Dollar"), "GBP": ("Pfund", "Pfund"), "EUR": ("Euro", "Euro")},
    ),
    "fr": Language(
        "fr",
        point="virgule",
        minus="moins",
        plus="plus",
        times="fois",
        by="sur",
        equals="égale",
        percent="pour cent",
        and_="et",
        at="arobase",
        dot="point",
        slash="barre",
        dash="tiret",
        underscore="tiret bas",
        to="à",
        degrees="degrés",
        number="numéro",
        hashtag="hashtag",
        section="paragraphe",
        less="inférieur à",
        greater="supérieur à",
        per="par",
        first="premier",
        clock="{hour} heures {minute}",
        full_hour="{hour} heures",
        money={"USD": ("dollar", "dollars"), "GBP": ("livre", "livres"), "EUR": ("euro", "euros")},
    ),
    "es": Language(
        "es",
        point="coma",
        minus="menos",
        plus="más",
        times="por",
        by="por",
        equals="igual a",
        percent="por ciento",
        and_="y",
        at="arroba",
        dot="punto",
        slash="barra",
        dash="guion",
        underscore="guion bajo",
        to="a",
        degrees="grados",
        number="número",
        hashtag="almohadilla",
        section="sección",
        less="menor que",
        greater="mayor que",
        per="por",
        date="{day} de {month} de {year}",
        first="primero",
        price="{whole} {unit} con {part}",
        money={"USD": ("dólar", "dólares"), "GBP": ("libra", "libras"), "EUR": ("euro", "euros")},
    ),
    "it": Language(
        "it",
        point="virgola",
        minus="meno",
        plus="più",
        times="per",
        by="per",
        equals="uguale",
        percent="per cento",
        and_="e",
        at="chiocciola",
        dot="punto",
        slash="barra",
        dash="trattino",
        underscore="trattino basso",
        to="a",
        degrees="gradi",
        number="numero",
        hashtag="hashtag",
        section="sezione",
        less="minore di",
        greater="maggiore di",
        per="al",
        first="primo",
        clock="{hour} e {minute}",
        price="{whole} {unit} e {part}",
        money={"USD": ("dollaro", "dollari"), "GBP": ("sterlina", "sterline"), "EUR": ("euro", "euro")},
    ),
    "pt": Language(
        "pt",
        point="vírgula",
        minus="menos",
        plus="mais",
        times="vezes",
        by="por",
        equals="igual a",
        percent="por cento",
        and_="e",
        at="arroba",
        dot="ponto",
        slash="barra",
        dash="hífen",
        underscore="sublinhado",
        to="a",
        degrees="graus",
        number="número",
        hashtag="hashtag",
        section="seção",
        less="menor que",
        greater="maior que",
        per="por",
        date="{day} de {month} de {year}",
        first="primeiro",
        clock="{hour} e {minute}",
        full_hour="{hour} horas",
        price="{whole} {unit} e {part}",
        money={"USD": ("dólar", "dólares"), "GBP": ("libra", "libras"), "EUR": ("euro", "euros")},
    ),
    "nl": Language(
        "nl",
        point="komma",
        minus="min",
        plus="plus",
        times="keer",
        by="bij",
        equals="is",
        percent="procent",
        and_="en",
        at="apenstaartje",
        dot="punt",
        slash="schuine streep",
        dash="streepje",
        underscore="liggend streepje",
        to="tot",
        degrees="graden",
        number="nummer",
        hashtag="hashtag",
        section="paragraaf",
        less="kleiner dan",
        greater="groter dan",
        per="per",
        clock="{hour} uur {minute}",
        full_hour="{hour} uur",
        money={"USD": ("dollar", "dollar"), "GBP": ("pond", "pond"), "EUR": ("euro", "euro")},
    ),
}


@functools.lru_cache(maxsize=256)
def language_of(tag: str) -> Language:
    """Return the table for a BCP 47 tag; of a language that is not read, one that says so."""
    parts = tag.replace("_", "-").split("-")
    code = parts[0].lower()
    region = next((part.upper() for part in parts[1:] if len(part) == 2), "")
    table = _TABLES.get(code)
    return Language(code, region) if table is None else dataclasses.replace(table, region=region)
