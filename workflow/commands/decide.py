"""`python -m workflow.decide`."""

import sys

from workflow.operate.decide import main

if __name__ == "__main__":
    sys.exit(main())
