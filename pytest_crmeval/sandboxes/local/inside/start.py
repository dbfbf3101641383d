"""Where the interpreter of a supervisor begins. Run by its path; the package is found beside it and forgotten again."""

import json
import os
import socket
import sys
from pathlib import Path

root = str(Path(__file__).parents[4])
sys.path.insert(0, root)

from pytest_crmeval.sandboxes.local.inside.supervisor import supervise  # noqa: E402 (only now it can be found)

sys.path[:] = [path for path in sys.path if path not in {root, str(Path(__file__).parent)}]
# By the lowest free number: that of the parent may be one that the children of this process use.
control = socket.socket(fileno=os.dup(int(sys.argv[1])))
os.close(int(sys.argv[1]))
supervise(control, json.loads(sys.argv[2]))
