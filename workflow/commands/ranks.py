"""`python -m workflow.ranks`."""

import sys

from workflow.draw.ranks import main

if __name__ == "__main__":
    sys.exit(main())
