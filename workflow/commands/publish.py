"""`python -m workflow.publish`."""

import sys

from workflow.operate.publish import main

if __name__ == "__main__":
    sys.exit(main())
