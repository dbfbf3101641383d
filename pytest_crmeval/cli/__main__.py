"""`python -m pytest_crmeval.cli` is `crmeval`."""

import sys

from pytest_crmeval.cli import main

sys.exit(main())
