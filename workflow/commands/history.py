"""`python -m workflow.history`."""

from workflow.judge.history import main

raise SystemExit(main())
