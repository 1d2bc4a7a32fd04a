"""`python -m workflow.reference`."""

import sys

from workflow.site.reference import main

if __name__ == "__main__":
    sys.exit(main())
