"""`python -m workflow.profiles`."""

import sys

from workflow.draw.profiles import main

if __name__ == "__main__":
    sys.exit(main())
