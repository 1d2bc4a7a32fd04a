"""`python -m workflow.carry`."""

from workflow.operate.carry import main

raise SystemExit(main())
