"""``python -m rxagent`` is ``rxagent``."""

import sys

from rxagent.cli import main

if __name__ == "__main__":
    sys.exit(main())
