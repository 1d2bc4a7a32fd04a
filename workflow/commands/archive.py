"""`python -m workflow.archive`."""

import sys

from workflow.operate.archive import main

if __name__ == "__main__":
    sys.exit(main())
