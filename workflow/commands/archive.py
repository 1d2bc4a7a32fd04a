"""`python -m workflow.archive`."""

from workflow.operate.archive import main

raise SystemExit(main())
