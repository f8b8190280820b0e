"""`python -m server`: the command line."""

from server.cli import main

main()
