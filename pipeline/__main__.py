"""`python -m pipeline`."""

import gc
import sys

if __name__ == "__main__":
    try:
        from pipeline.cli import main
    except KeyboardInterrupt:
        sys.exit(130)  # nothing has begun
    status = main()
    gc.freeze()  # the process ends: searching all modules for garbage would take 0.4 s once torch is imported
    sys.exit(status)
