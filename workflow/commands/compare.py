"""`python -m workflow.compare`."""

from workflow.operate.compare import main

raise SystemExit(main())
