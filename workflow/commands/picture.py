"""`python -m workflow.picture`."""

import sys

from workflow.draw.picture import main

if __name__ == "__main__":
    sys.exit(main())
