"""For a program that lies beside a clone named noregret.

Python takes the clone's own folder for the package of that name. It then is the package inside,
and finds those that this one stands on.
"""

import sys
from pathlib import Path

if __name__ == "noregret":
    _clone = Path(__file__).parent
    __file__ = str(_clone / "noregret" / "__init__.py")
    __path__ = [str(_clone / "noregret")]
    sys.path.append(str(_clone))  # behind all others: one's own modules come first
    exec(compile(Path(__file__).read_text(encoding="utf-8"), __file__, "exec"))
