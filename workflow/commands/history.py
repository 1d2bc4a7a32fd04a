"""`python -m workflow.history`."""

from workflow.operate.history import main

raise SystemExit(main())
