#!/usr/bin/env bash
# Every source is formatted as .clang-format says. Other versions of clang-format differ in details, so only version 14 is used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
clang-format --version 2>/dev/null | grep -q 'version 14\.' || { echo 'skipped: no clang-format 14 here'; exit 77; }
./lockstep format --check
