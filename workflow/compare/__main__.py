"""`python -m workflow.compare METHOD PAPER/FIGURE`."""

import sys

from workflow.compare.command_line import main

if __name__ == "__main__":
    sys.exit(main())
