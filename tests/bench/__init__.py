"""Our server beside others of the same voice, and the untouched graph as the limit: tests/bench/run --help."""
