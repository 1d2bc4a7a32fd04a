import sys
from pathlib import Path

# the small problems, which several files here use
sys.path.insert(0, str(Path(__file__).parent))
