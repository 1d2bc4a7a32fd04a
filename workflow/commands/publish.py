"""`python -m workflow.publish`."""

from workflow.operate.publish import main

raise SystemExit(main())
