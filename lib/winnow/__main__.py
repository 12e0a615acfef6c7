"""`python -m winnow` is `winnow`."""

import sys

from winnow.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
