"""`python -m workflow.compare`."""

import sys

from workflow.operate.compare import main

if __name__ == "__main__":
    sys.exit(main())
