#!/usr/bin/env bash
# What Jupyter wants to know about the kernel (kernel.json), for the program given.
# The name is xeus-cling's, xcpp17, so that the same notebooks run there and here.
set -euo pipefail
printf '{\n  "argv": ["%s", "-f", "{connection_file}"],\n  "display_name": "C++17",\n  "language": "C++17",\n  "interrupt_mode": "signal"\n}\n' "$(readlink -f "$1")"
