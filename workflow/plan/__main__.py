"""`python -m workflow.plan`."""

import sys

from workflow.plan.show import main

if __name__ == "__main__":
    sys.exit(main())
