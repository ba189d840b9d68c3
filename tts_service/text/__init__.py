"""The text front end: from what people write to segments of what is to be said. Pure; runs in the gateway's threads."""
