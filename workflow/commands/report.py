"""`python -m workflow.report`: on the one code path, so that a report has the same bits on every
machine.
"""

from workflow.trace import one_path

one_path.begin()  # before the first numerical library is loaded
from workflow.draw.report import main  # noqa: E402

raise SystemExit(main())
