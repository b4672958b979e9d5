"""`python -m bomi` is the command line."""

from bomi.cli import main

if __name__ == "__main__":
    main()
