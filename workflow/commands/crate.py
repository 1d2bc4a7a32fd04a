"""`python -m workflow.crate`."""

import sys

from workflow.operate.crate import main

if __name__ == "__main__":
    sys.exit(main())
