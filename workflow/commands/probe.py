"""`python -m workflow.probe`."""

import sys

from workflow.operate.probe import main

if __name__ == "__main__":
    sys.exit(main())
