"""``python -m nearer`` is the command line too, for when the folder of scripts is not on the path."""

from nearer.cli import main

if __name__ == "__main__":
    main()
