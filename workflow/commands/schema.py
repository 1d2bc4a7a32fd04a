"""`python -m workflow.schema`."""

from workflow.plan.manual import main

raise SystemExit(main())
