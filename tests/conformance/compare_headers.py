#!/usr/bin/env python3
"""Compares one of our CUDA-like headers with NVIDIA's of the same name, name by name.

A program that prints what each name is (value of an enumerator or macro, size of a type, type of a field, a function or a typedef)
is made from the names of our header, compiled against ours and against NVIDIA's, and both must print the same. Exit code 77:
NVIDIA's is not here.
"""
import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from header_names import names_of

# Names that can't be equal, and why. Each must still exist in NVIDIA's header.
EXCEPTIONS = {
    "version": ({"NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH", "NCCL_SUFFIX", "NCCL_VERSION_CODE", "CUDART_VERSION", "CUDNN_MAJOR",
                 "CUDNN_MINOR", "CUDNN_PATCHLEVEL", "CUDNN_VERSION", "CUBLAS_VER_MAJOR", "CUBLAS_VER_MINOR", "CUBLAS_VER_PATCH",
                 "CUBLAS_VERSION"},
                "says which release it is"),
    "part": ({"cudaDeviceProp", "cudaPointerAttributes", "ncclConfig_t"}, "has only the fields that are used: each is compared, the size is not"),
}
# Fields that only give a structure CUDA 13's size (NvidiaLayout.IsThatOfTheToolkitsHeaders compares where fields lie).
FILLERS = {"cudaDeviceProp::uuid", "cudaDeviceProp::texturesAndSurfaces", "cudaDeviceProp::further", "cudaDeviceProp::reserved",
           "cudaPointerAttributes::reserved"}
# Names that older releases do not have yet. Where NVIDIA's header has them they are compared as all others.
NEWER = {"CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE", "CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH",
         "CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API"}
# Types whose own name says the release; they are used by the name of their typedef.
NAMED_BY_RELEASE = {"ncclConfig_t", "ncclConfig_v22800"}
# Macros that are no value but fill one: which type, and the fields to compare.
INITIALIZERS = {"NCCL_CONFIG_INITIALIZER": ("ncclConfig_t", ["magic", "blocking", "cgaClusterSize", "minCTAs", "maxCTAs", "splitShare"])}
# CUDA's own words, which NVIDIA's compiler knows without a header.
LANGUAGE = {"__host__", "__device__", "__global__", "__shared__", "__forceinline__", "__launch_bounds__", "__constant__"}

# A template has no one type: what a call of it gives, instead.
TEMPLATES = {
    "cudaMalloc": "decltype(cudaMalloc(std::declval<float**>(), std::size_t{}))",
    "cudaMallocAsync": "decltype(cudaMallocAsync(std::declval<float**>(), std::size_t{}, cudaStream_t{}))",
    "cudaMallocHost": "decltype(cudaMallocHost(std::declval<float**>(), std::size_t{}, 0U))",
    "cudaHostAlloc": "decltype(cudaHostAlloc(std::declval<float**>(), std::size_t{}, 0U))",
    "cudaLaunchKernelEx": "decltype(cudaLaunchKernelEx(std::declval<const cudaLaunchConfig_t*>(), "
                          "std::declval<void (*)(float, int)>(), 1.0F, 2))",
}

PROGRAM = """
#include <{header}>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cxxabi.h>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

template <typename T> struct Wrapped {{}};

template <typename T> std::string type_name() {{  // no typedef, all const: what the compiler takes it for
  int status = 0;
  char* text = abi::__cxa_demangle(typeid(Wrapped<T>).name(), nullptr, nullptr, &status);
  const std::string name(text);
  return name.substr(8, name.size() - 9);
}}
template <typename T> std::string value(T v) {{
  if constexpr (std::is_convertible_v<T, const char*>) return std::string("\\"") + static_cast<const char*>(v) + "\\"";
  else if constexpr (std::is_pointer_v<T>) return type_name<T>() + " " + std::to_string(reinterpret_cast<std::uintptr_t>(v));
  else if constexpr (std::is_floating_point_v<T>) return std::to_string(v);
  else return std::to_string(static_cast<long long>(v));
}}
void say(const char* kind, const char* name, const std::string& what) {{ std::printf("%s %s = %s\\n", kind, name, what.c_str()); }}

int main() {{
{lines}
}}
"""


def exception_of(name):
    for kind, (names, _) in EXCEPTIONS.items():
        if name in names:
            return kind
    return None


def line_of(entry, overloaded):
    kind, name, detail = entry
    if name in INITIALIZERS:
        filled, fields = INITIALIZERS[name]
        values = ' + " " + '.join(f"value(filled.{field})" for field in fields)
        return f'  {{ {filled} filled = {name}; say("macro", "{name}", {values}); }}'
    if name in NAMED_BY_RELEASE:
        return f'  say("type", "{name}", sizeof(ncclConfig_t) > 0 ? "there" : "");'
    if kind == "macro":
        if exception_of(name) == "version":
            return f'#ifdef {name}\n  say("macro", "{name}", "there");\n#else\n  say("macro", "{name}", "missing");\n#endif'
        return f'  say("macro", "{name}", value({name}));'
    if kind == "function_macro":
        samples = [[str(i + first) for i in range(detail)] for first in (1, 2, 30)]
        return f'  say("macro", "{name}", ' + ' + " " + '.join(f"value({name}({', '.join(s)}))" for s in samples) + ");"
    if kind == "enumerator":
        return f'  say("enumerator", "{name}", type_name<decltype({name})>() + " " + value({name}));'
    if kind == "type":
        size = "" if exception_of(name) else f' + " of " + std::to_string(sizeof({name})) + " bytes"'
        return f'  say("type", "{name}", type_name<{name}>(){size});'
    if kind == "opaque":
        return f'  say("opaque", "{name}", type_name<{name}*>());'
    if kind == "field":
        return f'  say("field", "{name}", type_name<decltype({name})>());'
    if kind == "template":
        return f'  say("template", "{name}", type_name<{TEMPLATES[name]}>());'
    if name in overloaded:  # which of them is meant, our declaration says; the compiler refuses what is not there
        return f'  say("function", "{name}", type_name<decltype(static_cast<{detail}>(&{name}))>());'
    return f'  say("function", "{name}", type_name<decltype(&{name})>());'


def answers(compiler, source, include_dirs, options, program):
    command = [compiler, "-std=c++20", "-w", "-O0", *options, *[f"-I{d}" for d in include_dirs], str(source), "-o", str(program)]
    built = subprocess.run(command, text=True, capture_output=True)
    if built.returncode != 0:
        errors = [line for line in built.stderr.splitlines() if "error" in line][:20]
        sys.exit("does not compile against " + " ".join(map(str, include_dirs)) + ":\n" + "\n".join(errors))
    return subprocess.run([str(program)], text=True, check=True, capture_output=True).stdout.splitlines()


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--header", required=True)
    arguments.add_argument("--compiler", required=True)
    arguments.add_argument("--ours", required=True, action="append", help="include folders of the virtual GPU; the first has the headers")
    arguments.add_argument("--theirs", action="append", default=[], help="include folders of NVIDIA's toolkit")
    arguments.add_argument("--option", action="append", default=[], help="for the compiler")
    arguments.add_argument("--work", required=True, type=Path)
    given = arguments.parse_args()

    theirs = [d for d in given.theirs if Path(d).is_dir()]
    if not any((Path(d) / given.header).is_file() for d in theirs):
        print("skipped: NVIDIA's headers are not there (./lockstep test --parity gets the oldest that are supported)")
        return 77

    headers = Path(given.ours[0]).resolve()
    support = [Path(d).resolve() for d in given.ours[1:]]

    def wanted(path):
        if Path(path).resolve() == headers / given.header:
            return True
        return given.header == "cuda_runtime.h" and Path(path).resolve().parent in support  # cudaLaunchKernelEx is declared there

    names = [n for n in names_of(given.compiler, given.header, given.ours, wanted, given.option)
             if n.name not in LANGUAGE | FILLERS and not n.name.startswith("LOCKSTEP_")]
    their_text = next((Path(d) / given.header).read_text(errors="replace") for d in theirs if (Path(d) / given.header).is_file())
    newer = [n.name for n in names if n.name in NEWER and not re.search(rf"\b{n.name}\b", their_text)]
    names = [n for n in names if n.name not in newer]
    missing = [n.name for n in names if n.kind == "template" and n.name not in TEMPLATES]
    if missing:
        sys.exit(f"{given.header}: say in TEMPLATES how to call {', '.join(missing)}")
    calls = Counter(n.name for n in names if n.kind in ("function", "template"))
    template_names = {n.name for n in names if n.kind == "template"}
    overloaded = {name for name, count in calls.items() if count > 1 or name in template_names}
    # NVIDIA's header may overload a name that ours has once: then only a cast can say which one is meant.
    overloaded |= {n.name for n in names if n.kind == "function" and given.header == "cuda_runtime.h"}

    given.work.mkdir(parents=True, exist_ok=True)
    stem = given.work / given.header.replace("/", "_")
    source = Path(f"{stem}.names.cc")
    source.write_text(PROGRAM.format(header=given.header, lines="\n".join(line_of(n, overloaded) for n in names)))
    ours = answers(given.compiler, source, given.ours, given.option, Path(f"{stem}.ours"))
    real = answers(given.compiler, source, theirs, given.option, Path(f"{stem}.theirs"))

    if not len(ours) == len(real) == len(names):
        sys.exit(f"{given.header}: {len(names)} names extracted, {len(ours)} answers of ours, {len(real)} of NVIDIA's")
    different = [(a, b) for a, b in zip(ours, real) if a != b]
    for a, b in different:
        print(f"ours:   {a}\ntheirs: {b}")
    for kind, (excepted, why) in EXCEPTIONS.items():
        here = [n.name for n in names if n.name in excepted]
        if here:
            print(f"{', '.join(here)}: {why}")
    if newer:
        print(f"{', '.join(newer)}: newer than NVIDIA's header here")
    kinds = ", ".join(f"{count} {kind}s" for kind, count in sorted(Counter(re.match(r"\w+", a).group() for a in ours).items()))
    print(f"{given.header}: {len(names)} names extracted, {len(ours)} compared ({kinds}), {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
