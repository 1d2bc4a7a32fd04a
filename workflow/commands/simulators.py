"""`python -m workflow.simulators`."""

from workflow.data.simulators import main

raise SystemExit(main())
