"""`python -m workflow.history`."""

import sys

from workflow.operate.history import main

if __name__ == "__main__":
    sys.exit(main())
