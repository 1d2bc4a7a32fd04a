"""`python -m workflow.verify`."""

from workflow.operate.verify import main

raise SystemExit(main())
