"""`python -m workflow.specification`."""

import sys

from workflow.draw.specification import main

if __name__ == "__main__":
    sys.exit(main())
