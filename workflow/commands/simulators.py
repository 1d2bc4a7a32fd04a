"""`python -m workflow.simulators`."""

import sys

from workflow.data.simulators import main

if __name__ == "__main__":
    sys.exit(main())
