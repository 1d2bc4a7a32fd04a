"""`python -m workflow.schema`."""

import sys

from workflow.plan.manual import main

if __name__ == "__main__":
    sys.exit(main())
