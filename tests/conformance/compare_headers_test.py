#!/usr/bin/env python3
"""The comparison must be able to fail: small pairs of headers, equal but for one thing. Usage: compare_headers_test.py COMPILER"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMPILER = sys.argv.pop() if len(sys.argv) > 1 else "c++"
SCRIPT = Path(__file__).with_name("compare_headers.py")

BASE = """#pragma once
#include <stddef.h>
#define LIMIT 8
#define NAME "n"
#define PACK(a, b) ((a) * 100 + (b))
extern "C" {
typedef enum { kOne = 1, kTwo } kind_t;
enum color { red, green = 5, };
typedef enum color color_t;
struct pair { int first, second; const char* names[2]; };
typedef struct { double x; } point_t;
typedef union either_t { int whole; float part; } either_t;
struct tagged { int kind; union value_t { int i; float f; } value; };
typedef struct hidden* handle_t;
typedef void (*callback_t)(void* data);
int make(handle_t* handle, const void* data, size_t count);
const char* text(kind_t kind);
}
"""


def compare(ours, theirs, header="sample.h"):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("ours", ours), ("theirs", theirs)):
            (Path(folder) / name).mkdir()
            if content is not None:
                (Path(folder) / name / header).write_text(content)
        done = subprocess.run([sys.executable, str(SCRIPT), "--header", header, "--compiler", COMPILER, "--ours", f"{folder}/ours",
                               "--theirs", f"{folder}/theirs", "--work", f"{folder}/work"], text=True, capture_output=True)
        return done.returncode, done.stdout + done.stderr


class CompareHeaders(unittest.TestCase):
    def test_equal_headers_are_equal_and_every_name_is_counted(self):
        code, text = compare(BASE, BASE)
        self.assertEqual(code, 0, text)
        self.assertIn("29 names extracted, 29 compared", text)

    def test_more_in_theirs_is_no_difference(self):
        self.assertEqual(compare(BASE, BASE + "extern \"C\" int more(int);\n#define MORE 1\n")[0], 0)

    def test_every_kind_of_difference_is_found(self):
        theirs = BASE
        changes = (
            ("LIMIT 8", "LIMIT 9", "macro LIMIT"),
            ('NAME "n"', 'NAME "m"', "macro NAME"),
            ("* 100", "* 10", "macro PACK"),
            ("kTwo", "kTwo = 7", "enumerator kTwo"),
            ("red, green", "ahead, red, green", "enumerator red"),
            ("int first, second", "long first; int second", "field pair::first"),
            ("float part", "double part", "field either_t::part"),
            ("float f;", "unsigned f;", "field tagged::value_t::f"),
            ("} value;", "} value; int more;", "type tagged"),
            ("names[2]", "names[3]", "field pair::names"),
            ("double x;", "double x, y;", "type point_t"),
            ("struct hidden*", "struct other*", "type handle_t"),
            ("(*callback_t)(void* data)", "(*callback_t)(const void* data)", "type callback_t"),
            ("const void* data, size_t", "void* data, size_t", "function make"),
            ("const char* text", "char* text", "function text"))
        for ours, other, _ in changes:
            self.assertIn(ours, theirs)
            theirs = theirs.replace(ours, other)
        code, text = compare(BASE, theirs)
        self.assertEqual(code, 1, text)
        for _, _, word in changes:
            self.assertIn("ours:   " + word, text)
        self.assertIn(f"{len(changes) + 2} differ", text)  # and the sizes of pair and either_t, which follow from their fields

    def test_a_name_that_is_missing_is_found(self):
        code, text = compare(BASE, BASE.replace("const char* text(kind_t kind);", ""))
        self.assertEqual(code, 1)
        self.assertIn("text", text)

    def test_a_declaration_of_unknown_form_is_an_error(self):
        for strange in ("int variable;", "using t = int;", "class c {};"):
            code, text = compare(BASE + strange, BASE + strange)
            self.assertNotIn(code, (0, 77), strange)
            self.assertIn("Unknown", text)

    def test_without_their_header_it_is_skipped(self):
        code, text = compare(BASE, None)
        self.assertEqual(code, 77)
        self.assertIn("skipped", text)


if __name__ == "__main__":
    unittest.main()
