"""Texts to be spoken by the scenarios: fixed, so that every run does the same work."""

# Two sentences each, so that two workers have something to do: 4 to 8 s of audio at a usual rate.
PAIRS: tuple[str, ...] = (
    "The weather is lovely today, so we should go for a walk. Please remember to lock the front door.",
    "My sister bought a new red bicycle for her birthday. She rides it along the river every evening.",
    "The train to the city leaves early in the morning. We will buy our tickets at the station.",
    "We had dinner at a small restaurant near the harbour. The fish was fresh and the bread still warm.",
    "Could you please open the window for a moment? It is getting very warm in this room.",
    "The children are playing football in the garden. Their grandmother watches them from the kitchen.",
    "I would like a cup of coffee with milk and sugar. My friend will have a glass of water.",
    "He reads the newspaper every morning before work. On Sundays he has time for the crossword, too.",
    "The library is closed on Sunday for repairs. It will be open all day on Monday and Tuesday.",
    "They watched an old movie together at home. Nobody noticed how late it had become.",
)

# 20 to 230 characters, as spread as those of everyday texts; all sentences are one segment each.
SENTENCES: tuple[str, ...] = (
    "Good morning to all.",
    "Where are you going?",
    "The shop opens at nine.",
    "Thank you for your help.",
    "I will call you tomorrow.",
    "Please take the second left.",
    "He has already left the office.",
    "The soup needs a little more salt.",
    "We should leave before it gets dark.",
    "Her brother plays the piano very well.",
    "There is a letter for you on the table.",
    "The next bus to the airport is at ten past.",
    "Nobody had told them that the road was closed.",
    "It has been raining since early this afternoon.",
    "The dog sleeps under the table while we have lunch.",
    "Can you tell me how long the journey to London takes?",
    "She painted the old kitchen chairs in a bright yellow.",
    "After the storm the garden was full of broken branches.",
    "The museum has a new room about the history of the harbour.",
    "My neighbour grows tomatoes, beans and onions on her balcony.",
    "If you are cold, there is a warm blanket in the cupboard there.",
    "They have lived in the same small house for more than forty years.",
    "The teacher asked the class to write a short story about the winter.",
    "We took the ferry to the island and walked along the beach all morning.",
    "Before you switch the machine on, make sure that the lid is really closed.",
    "The baker on the corner sells the best bread in town, but only until eleven.",
    "Although the film was very long, none of us looked at the clock even one time.",
    "On the way home he noticed that he had left his umbrella in the waiting room again.",
    "The engineers tested the new bridge for three weeks before the first train crossed it.",
    "When the power came back, every clock in the house was blinking and the oven was beeping.",
    "She keeps all of her old letters in a wooden box that her grandfather made for her mother.",
    "There were so many people on the market square that we could hardly see where we were going.",
    "In the summer holidays the whole family used to travel to the mountains, with two tents, three "
    "bicycles and a very patient dog.",
    "The concert was supposed to begin at half past seven, but the singer was stuck in traffic, and nobody "
    "minded waiting for her.",
    "If the printer does not answer, switch it off, wait for ten seconds, switch it on again, and only then "
    "send the document another time.",
    "The village lies in a narrow valley between two lakes, and in spring, when the snow melts, the only road "
    "is often under water for days.",
    "He had always wanted to learn how to sail, so on his sixtieth birthday he sold his car, bought a small "
    "wooden boat, and named it after his first teacher.",
    "According to the forecast it will stay dry until the evening, with light winds from the west, before "
    "heavy rain reaches the coast during the night and moves inland by Friday.",
    "The committee agreed to repair the roof of the school first, because the rain had damaged two classrooms, "
    "and to talk about the colour of the new front doors at the next meeting in September.",
    "When my grandmother was a girl, she walked five miles to school each morning, in summer along the river "
    "and in winter through the forest, and she still says that the walk home was always the very best part of "
    "her whole long day.",
)

# About ten seconds of audio at a usual rate, and one segment: what a stream can begin before it is done with it.
TEN_SECONDS = (
    "Although the forecast had promised sunshine for the whole of the weekend, the first drops of rain began to fall "
    "before we had even unpacked our lunch beside the lake, so that nothing was left to us but to run."
)

# Ten sentences.
PARAGRAPH = " ".join(PAIRS[:5])

# Without a common factor with their number.
_STRIDE = 11


def sentences(n: int) -> list[str]:
    """Return `n` sentences, all of them in turn, in an order in which any few are of all lengths.

    In their own order the longest would come last, and a round would end with one worker on it and the others idle.
    """
    return [SENTENCES[index * _STRIDE % len(SENTENCES)] for index in range(n)]
