"""`python -m workflow.verify`."""

import sys

from workflow.operate.verify import main

if __name__ == "__main__":
    sys.exit(main())
