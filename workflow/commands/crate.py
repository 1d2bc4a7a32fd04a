"""`python -m workflow.crate`."""

from workflow.operate.crate import main

raise SystemExit(main())
