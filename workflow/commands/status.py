"""`python -m workflow.status`."""

import sys

from workflow.operate.status import main

if __name__ == "__main__":
    sys.exit(main())
