"""`python -m workflow.report`: on the one code path, so that a report has the same bits on every
machine.
"""

from workflow.trace import one_path

if __name__ == "__main__":
    one_path.take()  # before the first numerical library is loaded
    from workflow.draw.report import main

    raise SystemExit(main())
