"""Numbers, dates, times, prices and units in other languages than American English."""

from __future__ import annotations

import pytest

from tts_service.text.front_end import Reading, segments


def said(text: str, language: str) -> str:
    return " ".join(segment.text for segment in segments(text, Reading(language, 1000)))


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "1.234,5 und 21", "eintausendzweihundertvierunddreißig Komma fünf und einundzwanzig"),
        ("de", "Am 3. Mai 2024", "Am dritten Mai zweitausendvierundzwanzig"),
        ("de", "Am 03.05.2024", "Am dritten Mai zweitausendvierundzwanzig"),
        ("de", "um 14:30 Uhr", "um vierzehn Uhr dreißig"),
        ("de", "um 1 Uhr", "um ein Uhr"),
        ("de", "3,50 €", "drei Euro fünfzig"),
        ("de", "5 km/h, 20 %", "fünf Kilometer pro Stunde, zwanzig Prozent"),
        ("de", "z.B. Dr. Müller bzw. Nr. 5", "zum Beispiel Doktor Müller beziehungsweise Nummer fünf"),
        ("de", "der 2. Weltkrieg", "der zweite Weltkrieg"),
        ("de", "5 & 6", "fünf und sechs"),
        ("fr", "1 234,5", "mille deux cent trente-quatre virgule cinq"),
        ("fr", "le 1er mai 2024 à 14h30", "le premier mai deux mille vingt-quatre à quatorze heures trente"),
        ("fr", "3,50 €", "trois euros cinquante"),
        ("fr", "M. Dupont, 2e étage", "Monsieur Dupont, deuxième étage"),
        ("es", "1.234 y 0,5", "mil doscientos treinta y cuatro y cero coma cinco"),
        ("es", "El Sr. García paga 3,50 €", "El señor García paga tres euros con cincuenta"),
        ("es", "1 km y 5 km", "un kilómetro y cinco kilómetros"),
        ("es", "03/05/2024", "tres de mayo de dos mil veinticuatro"),
        ("it", "alle 14:30", "alle quattordici e trenta"),
        ("it", "3,50 €, 21 anni", "tre euro e cinquanta, ventuno anni"),
        ("pt", "às 14:30, 50%", "às catorze e trinta, cinquenta por cento"),
        ("nl", "om 14:30", "om veertien uur dertig"),
        ("nl", "bijv. 5 km", "bijvoorbeeld vijf kilometer"),
        ("en-GB", "1,234", "one thousand two hundred and thirty-four"),
        ("en-GB", "03/05/2024", "May third, twenty twenty-four"),
        ("en-GB", "5 m", "five metres"),
    ],
)
def test_what_is_written_in_digits_is_read(language: str, text: str, expected: str) -> None:
    assert said(text, language) == expected


@pytest.mark.parametrize(
    ("language", "text"), [("ja", "3.50ドル"), ("pl", "Mam 5 kotów."), ("xx", "5 km"), ("", "5 km")]
)
def test_a_language_that_is_not_read_is_left_to_the_engine(language: str, text: str) -> None:
    assert said(text, language) == text
