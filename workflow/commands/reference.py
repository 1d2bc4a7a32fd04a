"""`python -m workflow.reference`."""

from workflow.operate.reference import main

raise SystemExit(main())
