"""`python -m workflow.report`."""

from workflow.draw.report import main

raise SystemExit(main())
