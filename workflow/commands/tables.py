"""`python -m workflow.tables`."""

import sys

from workflow.draw.tabulate import main

if __name__ == "__main__":
    sys.exit(main())
