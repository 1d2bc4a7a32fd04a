"""`python -m workflow.sensitivity`."""

import sys

from workflow.judge.sensitivity import main

if __name__ == "__main__":
    sys.exit(main())
