"""`python -m server`: the command line."""

from server.cli.main import main

main()
