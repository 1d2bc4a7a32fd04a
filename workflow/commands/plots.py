"""`python -m workflow.plots`."""

import sys

from workflow.draw.plots import main

if __name__ == "__main__":
    sys.exit(main())
