"""`python -m workflow.carry`."""

import sys

from workflow.operate.carry import main

if __name__ == "__main__":
    sys.exit(main())
