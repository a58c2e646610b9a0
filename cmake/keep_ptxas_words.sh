#!/bin/sh
# keep_ptxas_words.sh OBJECT COMMAND...: compiles, and keeps what `ptxas -v` says of each kernel in OBJECT.ptxas instead of printing it.
# tests/product/kernel_registers.py reads it: no kernel may spill registers.
object=$1
shift
"$@" 2>"$object.messages"
code=$?
grep -E '^ptxas info|bytes stack frame|Compile time' "$object.messages" >"$object.ptxas"
grep -vE '^ptxas info|bytes stack frame|Compile time' "$object.messages" >&2
rm -f "$object.messages"
exit $code
