"""`python -m bomi.cli` is the command line too."""

from bomi.cli import main

if __name__ == "__main__":
    main()
