"""`python -m workflow.fetch`."""

from workflow.data.fetch import main

raise SystemExit(main())
