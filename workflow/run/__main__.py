"""`python -m workflow.run`."""

import sys

from workflow.run.job import main

if __name__ == "__main__":
    sys.exit(main())
