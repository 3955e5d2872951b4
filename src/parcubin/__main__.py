"""`python -m parcubin`."""

from parcubin.cli.main import main

if __name__ == "__main__":
    main()
