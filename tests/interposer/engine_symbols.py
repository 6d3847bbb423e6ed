"""The engine registers no destructors that exit() would call while kernels run (interposer/kept_objects.cpp).

usage: engine_symbols.py liblynxpp-engine.so
"""
import subprocess
import sys

wanted = subprocess.run(["nm", "-D", "--undefined-only", sys.argv[1]], check=True, capture_output=True, text=True).stdout.split()
names = {word.split("@")[0] for word in wanted}
if "__cxa_finalize" not in names:
    sys.exit(f"{sys.argv[1]} has no symbols to check")
registered = names & {"__cxa_atexit", "atexit"}
sys.exit(f"{sys.argv[1]} imports {', '.join(sorted(registered))}" if registered else 0)
