"""`python -m workflow.inventory`."""

import sys

from workflow.operate.inventory import main

if __name__ == "__main__":
    sys.exit(main())
