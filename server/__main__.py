"""`wallet`, and `python -m server`: the command line."""

from server.runtime.gc_tuning import loading


def main() -> None:
    """Load the commands, and do what the arguments say."""
    with loading():
        from server.cli.main import main as commands
    commands()


if __name__ == "__main__":
    main()
