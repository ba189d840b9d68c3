"""Everyday English sentences that a recogniser hears back well, for end-to-end checks of speech."""

# Spoken by hibari and heard by Moonshine tiny, seeds 1 to 9: word error rate 0.8 % at most over all twelve.
PLAIN: tuple[str, ...] = (
    "The weather is lovely today, so we should go for a walk.",
    "Please remember to lock the front door before you leave.",
    "My sister bought a new red bicycle for her birthday.",
    "The train to the city leaves early in the morning.",
    "We had dinner at a small restaurant near the river.",
    "Could you please open the window and let in some fresh air?",
    "The children are playing football in the garden after school.",
    "I would like a cup of coffee with milk and sugar.",
    "He reads the newspaper every morning before going to work.",
    "The library is closed on Sunday but open all day on Monday.",
    "Thank you very much for your help with this project.",
    "They watched an old movie together and went to bed late.",
)
