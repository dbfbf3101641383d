"""Where the interpreter of a keeper begins. Run by its path; the package is found beside it and forgotten again."""

import json
import socket
import sys
from pathlib import Path

root = str(Path(__file__).parents[4])
sys.path.insert(0, root)

from pytest_crmeval.sandboxes.local.inside.keeper import keep  # noqa: E402 (only now it can be found)

sys.path[:] = [path for path in sys.path if path not in {root, str(Path(__file__).parent)}]
# Here, and not further down: the frames that are open now are taken from the recursion limit of every program.
if begin := keep(socket.socket(fileno=int(sys.argv[1])), json.loads(sys.argv[2])):
    begin()
