"""`python -m workflow.status`."""

from workflow.operate.status import main

raise SystemExit(main())
