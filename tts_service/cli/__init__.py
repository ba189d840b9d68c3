"""The command line. Each command imports the half that it needs, and only when it runs."""
