"""`python -m workflow.certificate`."""

import sys

from workflow.judge.certificate import main

if __name__ == "__main__":
    sys.exit(main())
