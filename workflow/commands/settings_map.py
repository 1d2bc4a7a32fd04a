"""`python -m workflow.settings_map`."""

import sys

from workflow.draw.settings_map import main

if __name__ == "__main__":
    sys.exit(main())
