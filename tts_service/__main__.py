"""`python -m tts_service`: the same as the `tts-service` command."""

from tts_service.cli.main import main

if __name__ == "__main__":
    main()
