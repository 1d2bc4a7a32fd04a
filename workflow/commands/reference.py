"""`python -m workflow.reference`."""

from workflow.site.reference import main

raise SystemExit(main())
