"""`python -m workflow.fetch`."""

import sys

from workflow.data.fetch import main

if __name__ == "__main__":
    sys.exit(main())
