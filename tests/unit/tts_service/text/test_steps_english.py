"""What is written in digits, signs and abbreviations is read as a person reads it: American English."""

from __future__ import annotations

import pytest

from tts_service.text.front_end import Reading, segments

ONE_TO_ZERO = "one two three four five six seven eight nine zero"


def said(text: str, language: str = "en-US") -> str:
    return " ".join(segment.text for segment in segments(text, Reading(language, 1000)))


def check(text: str, expected: str) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,234,567 people", "one million two hundred thirty-four thousand five hundred sixty-seven people"),
        ("3.14", "three point one four"),
        (".5 seconds", "point five seconds"),
        ("007", "zero zero seven"),
        ("It is -5 outside", "It is minus five outside"),
        ("the 1st, 22nd and 103rd", "the first, twenty-second and one hundred third"),
        ("1/2, 3/4 and 5/8", "one half, three quarters and five eighths"),
        ("2 1/2 cups, 2½ cups", "two and a half cups, two and a half cups"),
        ("pages 10-20", "pages ten to twenty"),
        ("50% and 2.5 %", "fifty percent and two point five percent"),
        ("version 2.0.1", "version two point zero point one"),
        ("at 192.168.1.1", "at one hundred ninety-two dot one hundred sixty-eight dot one dot one"),
        ("Henry VIII and World War II", "Henry the eighth and World War two"),
        ("Elizabeth II's reign", "Elizabeth the second's reign"),
        ("Peter I met", "Peter I met"),
        ("#5 and No. 7", "number five and number seven"),
        ("3x as fast, 4x4", "three times as fast, four by four"),
        ("A4, GPT-4, H2O", "A four, GPT-four, H two O"),
        ("16:9", "sixteen to nine"),
        ("open 24/7", "open twenty-four seven"),
        ("x² + 10^6", "x squared plus ten to the power of six"),
        ("ZIP 90210", "ZIP nine zero two one zero"),
        ("12345678901234567890", f"{ONE_TO_ZERO} {ONE_TO_ZERO}"),
        ("9" * 40, " ".join(["nine"] * 40)),
        ("٣ and ３", "three and three"),
    ],
)
def test_numbers_are_read_by_their_kind(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Jan. 5, 2025", "January fifth, twenty twenty-five"),
        ("3/14/2025", "March fourteenth, twenty twenty-five"),
        ("25/12/2025", "December twenty-fifth, twenty twenty-five"),
        ("2024-05-03", "May third, twenty twenty-four"),
        ("the 4th of July 1776", "the fourth of July seventeen seventy-six"),
        ("12 March 1879", "the twelfth of March eighteen seventy-nine"),
        ("in 1984 and 2005", "in nineteen eighty-four and two thousand five"),
        ("the 1990s and '60s", "the nineteen nineties and sixties"),
        ("1914-1918", "nineteen fourteen to nineteen eighteen"),
        ("300 B.C. it was", "three hundred B C it was"),
        ("1500 people", "fifteen hundred people"),
        ("Mon-Fri by 12/5", "Monday to Friday by December fifth"),
        ("Mon., Dec. 3", "Monday, December third"),
        ("We may 5 times", "We may five times"),
    ],
)
def test_dates_and_years(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at 9:42", "at nine forty-two"),
        ("at 9:05", "at nine oh five"),
        ("at 10:00", "at ten o'clock"),
        ("7 a.m. or 7:30 PM sharp", "seven A M or seven thirty P M sharp"),
        ("It is 5 p.m.", "It is five P M."),
        ("9-11 a.m. only", "nine to eleven A M only"),
        ("9am-5pm, 9:00-17:30", "nine A M to five P M, nine o'clock to seventeen thirty"),
        ("it took 1:02:03", "it took one hour two minutes and three seconds"),
    ],
)
def test_times(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$3.50", "three dollars and fifty cents"),
        ("$1", "one dollar"),
        ("$0.99", "ninety-nine cents"),
        ("$1,234.56", "one thousand two hundred thirty-four dollars and fifty-six cents"),
        ("$1.5bn and $5 million", "one point five billion dollars and five million dollars"),
        ("$5k", "five thousand dollars"),
        ("-$5", "minus five dollars"),
        ("£2.01", "two pounds and one penny"),
        ("20 EUR", "twenty euros"),
        ("CHF 20", "twenty Swiss francs"),
        ("¥100", "one hundred yen"),
        ("$10-15", "ten to fifteen dollars"),
        ("$20/month", "twenty dollars per month"),
        ("50¢", "fifty cents"),
        ("$2.05/lb", "two dollars and five cents per pound"),
    ],
)
def test_prices(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 km and 5 km", "one kilometer and five kilometers"),
        ("20°C or 68°F", "twenty degrees Celsius or sixty-eight degrees Fahrenheit"),
        ("60 mph", "sixty miles per hour"),
        ("5-10 kg", "five to ten kilograms"),
        ("a 5'10\" man", "a five feet ten man"),
        ("3.5GB", "three point five gigabytes"),
        ("1/2 tsp. salt", "one half teaspoon salt"),
        ("It is 10 ft.", "It is ten feet."),
        ("25 m²", "twenty-five square meters"),
        ("80 dB", "eighty decibels"),
        ("10 in the morning", "ten in the morning"),
    ],
)
def test_units(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(555) 123-4567", "five five five, one two three, four five six seven"),
        ("+44 20 7946 0958", "plus four four, two zero, seven nine four six, zero nine five eight"),
        ("555-0199", "five five five, zero one nine nine"),
        ("4111 1111 1111 1111", ", ".join(["four one one one"] + ["one one one one"] * 3)),
    ],
)
def test_telephone_numbers_are_read_digit_by_digit(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Lee, Mr. and Mrs. Jones", "Doctor Lee, Mister and Missus Jones"),
        ("St. Mary's on Main St. today", "Saint Mary's on Main Street today"),
        ("apples, e.g. red ones, etc.", "apples, for example red ones, et cetera."),
        ("the U.S. economy", "the U S economy"),
        ("J. R. R. Tolkien wrote", "J R R Tolkien wrote"),
        ("p. 12, pp. 5-7, Fig. 3", "page twelve, pages five to seven, figure three"),
        ("Smith et al. vs. them", "Smith et al versus them"),
        ("I have no 5 of them", "I have no five of them"),
        ("Gen Z", "Gen Z"),
    ],
)
def test_abbreviations(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("salt & pepper", "salt and pepper"),
        ("AT&T, Q&A", "AT and T, Q and A"),
        ("a<b and c>d", "a less than b and c greater than d"),
        ("< five minutes left", "less than five minutes left"),
        ("1+1=2", "one plus one equals two"),
        ("3 × 4", "three times four"),
        ("and/or, he/she", "and or, he or she"),
        ("C++ and C#", "C plus plus and C sharp"),
        ("#winning @home", "hashtag winning at home"),
        ("snake_case_name", "snake case name"),
        ("a → b", "a to b"),
        ("stop *** now", "stop now"),
        ("a >= 5 && b != 2x + 1", "a greater than or equal to five and b not equal to two x plus one"),
        ("§4 and ±3", "section four and plus or minus three"),
    ],
)
def test_symbols_are_named_and_decoration_is_not(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HELLO THERE, everyone!", "Hello there, everyone!"),
        ("THIS IS VERY IMPORTANT", "This is very important"),
        ("The FBI and NASA know HTML", "The FBI and NASA know HTML"),
        ("I said IMPORTANT things", "I said important things"),
        ("the USA", "the USA"),
    ],
)
def test_shouted_words_are_words_and_abbreviations_stay(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What?!?! No!!!", "What? No!"),
        ("Well....... yes", "Well… yes"),
        ("yes--no", "yes — no"),
        ("one ,two , three", "one ,two, three"),
        ("word(s) here", "word(s) here"),
        # TXT-03
        ("(the inner circle)—and everyone else—noticed", "(the inner circle) — and everyone else — noticed"),
        ("one)and two", "one) and two"),
    ],
)
def test_txt_03_marks_in_rows_or_glued_to_words(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See https://www.example.com/docs/a-b.", "See example dot com slash docs slash a dash b."),
        ("See https://example.com/a?utm=1&x=2 now", "See example dot com now"),
        ("bob.smith@example.com", "bob dot smith at example dot com"),
        ("It is example.com. Next.", "It is example dot com. Next."),
        ("Node.js and e.g.", "Node.js and for example."),
    ],
)
def test_addresses(text: str, expected: str) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Great 🎉🎉🎉!", "Great party popper!"),
        ("I ❤️ you 👍🏽", "I red heart you thumbs up"),
        ("👩‍💻 at work", "woman technologist at work"),
    ],
)
def test_emoji_are_named_once(text: str, expected: str) -> None:
    check(text, expected)


def test_steps_can_be_chosen() -> None:
    def read(*steps: str) -> str:
        (segment,) = segments("Dr. **Lee** has $5", Reading("en-US", 300, frozenset(steps)))
        return segment.text

    assert read() == "Dr. **Lee** has $5"
    assert read("abbreviations") == "Doctor **Lee** has $5"
    assert read("markup", "currency") == "Dr. Lee has five dollars"
