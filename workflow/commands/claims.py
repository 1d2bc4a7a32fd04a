"""`python -m workflow.claims`."""

import sys

from workflow.judge.ledger import main

if __name__ == "__main__":
    sys.exit(main())
