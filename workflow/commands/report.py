"""`python -m workflow.report`."""

import sys

from workflow.draw.report import main

if __name__ == "__main__":
    sys.exit(main())
