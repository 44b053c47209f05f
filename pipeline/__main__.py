"""`python -m pipeline`."""

import gc
import sys

from pipeline.cli import main

if __name__ == "__main__":
    status = main()
    gc.freeze()  # the process ends: searching all modules for garbage would take 0.4 s once torch is imported
    sys.exit(status)
