"""The C++ kernel through Jupyter's own client; each test's name states what holds."""
import os
import sys
import unittest

from kernel_session import Session


class Kernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["LOCKSTEP_NOTEBOOK_MEMORY"] = "2"
        cls.session = Session()

    @classmethod
    def tearDownClass(cls):
        cls.session.close()

    def run_cell(self, code):
        return self.session.run(code)

    def ok(self, code):
        result = self.run_cell(code)
        self.assertEqual(result.status, "ok", result.error)
        return result

    def fails(self, code):
        result = self.run_cell(code)
        self.assertEqual(result.status, "error", "this should have failed: " + code)
        return result

    def test_values_of_last_expressions_are_shown(self):
        for code, text in [("1 + 1", "2"), ("2.5", "2.5"), ("true", "true"), ("'x'", "'x'"), ('std::string("a\\"b")', '"a\\"b"'),
                           ("std::pair<int, bool>{1, false}", "{ 1, false }"), ("#include <vector>\nstd::vector<int>{1, 2, 3}", "{ 1, 2, 3 }")]:
            self.assertEqual(self.ok(code).text, text, code)
        self.assertIsNone(self.ok("1 + 1;").result)
        self.assertIsNone(self.ok("int not_shown = 3;").result)
        self.assertEqual(self.ok("int shown = 4;\nshown // a comment").text, "4")

    def test_statements_and_declarations_mix_at_the_top(self):
        result = self.ok("#include <iostream>\nint total = 0;\nfor (int i = 0; i < 4; ++i) { total += i; }\n"
                         "if (total == 6) { std::cout << \"six\"; } else { std::cout << \"other\"; }\n"
                         "struct Point { int x = 1; int y() const; };\nint Point::y() const { return x + 1; }\nPoint point;\npoint.y() + total")
        self.assertEqual((result.stdout, result.text), ("six", "8"))

    def test_cells_can_be_run_again_and_changed(self):
        cell = "struct Thing {{ {0} value = {1}; }};\n{0} twice({0} v) {{ return v * 2; }}\ntemplate <typename T> T same(T v) {{ return v; }}\n" \
               "enum Color {{ red, green }};\nnamespace deep {{ {0} inside() {{ return {1}; }} }}\nusing Number = {0};\nNumber kept = {1};\nThing thing;\n" \
               "same(twice(thing.value)) + deep::inside() + kept"
        self.assertEqual(self.ok(cell.format("int", "3")).text, "12")
        self.assertEqual(self.ok(cell.format("int", "3")).text, "12")
        self.assertEqual(self.ok(cell.format("double", "2.25")).text, "9")
        self.assertEqual(self.ok("twice(thing.value)").text, "4.5")

    def test_what_a_cell_declares_is_made_in_its_order(self):
        self.ok("struct Maker { int v; explicit Maker(int n) : v(n) {} };\nint value_of(const Maker& m) { return m.v; }")
        self.assertEqual(self.ok("Maker made(3);\nmade.v += 1;\nconst int read = value_of(made);\nmade.v = 9;\nauto const late = made.v;\n"
                                 "const auto [one, two] = std::pair<int, int>{made.v, 5};\nread * 1000 + late * 100 + one * 10 + two").text, "4995")

    def test_lambdas_capture_nothing_at_the_top(self):
        self.assertEqual(self.ok("int factor = 3;\nauto times = [&](int n) { return [=] { return n * factor; }(); };\nconst int six = [=] { return times(2); }();\n"
                                 "six").text, "6")

    def test_older_code_keeps_what_it_was_compiled_with(self):
        self.ok("int base() { return 1; }\nint uses_base() { return base(); }")
        self.ok("int base() { return 2; }")
        self.assertEqual(self.ok("uses_base() * 10 + base()").text, "12")

    def test_functions_of_other_parameters_are_overloads(self):
        self.ok("int pick(int) { return 1; }")
        self.ok("int pick(double) { return 2; }")
        self.assertEqual(self.ok("pick(1) * 10 + pick(1.5)").text, "12")

    def test_an_error_names_the_line_and_the_kernel_goes_on(self):
        self.ok("int before = 5;")
        result = self.fails("int fine = 1;\n\nint wrong = fine +;\n")
        self.assertEqual(result.error["ename"], "CompileError")
        self.assertRegex(result.error["evalue"], r"^cell \d+:3:19: error: expected expression")
        self.assertEqual(self.ok("before").text, "5")
        self.assertRegex(self.fails("fine").error["evalue"], "undeclared identifier 'fine'")

    def test_a_cell_that_does_not_compile_changes_nothing(self):
        self.ok("int steady = 1;\nint read_steady() { return steady; }")
        self.fails("int steady = 2;\nint read_steady() { return nonsense; }")
        self.assertEqual(self.ok("steady * 10 + read_steady()").text, "11")

    def test_warnings_are_shown_and_do_not_stop(self):
        result = self.ok("int shifted() { return 1 << 40; }")
        self.assertIn("warning", result.stderr)

    def test_exceptions_end_the_cell_and_name_type_and_line(self):
        result = self.fails('#include <stdexcept>\nint first = 1;\nthrow std::runtime_error("on purpose");\nint second = 2;')
        self.assertEqual((result.error["ename"], result.error["evalue"]), ("std::runtime_error", "on purpose"))
        self.assertIn("line 3", "".join(result.error["traceback"]))
        self.assertEqual(self.ok("first").text, "1")
        self.fails("second")
        self.fails("throw 7;")
        self.assertEqual(self.ok("int caught = 0;\ntry { throw 7; } catch (int n) { caught = n; }\ncaught").text, "7")

    def test_exceptions_pass_through_functions_of_other_cells(self):
        self.ok('#include <stdexcept>\nvoid thrower() { throw std::out_of_range("far"); }')
        self.assertEqual(self.ok("std::string met;\ntry { thrower(); } catch (const std::exception& e) { met = e.what(); }\nmet").text, '"far"')

    def test_output_arrives_before_the_cell_ends(self):
        # The cell ends only after a file appears, and the file is made when its output has arrived.
        import os
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            sign = os.path.join(folder, "sign")
            code = f'#include <iostream>\n#include <cstdio>\n#include <unistd.h>\nstd::cout << "half a line"; std::fprintf(stderr, "and errors\\n");\n' \
                   f'while (access("{sign}", F_OK) != 0) usleep(1000);\nstd::cout << " whole" << std::endl;'

            def seen(message, result):
                if "half a line" in result.stdout and "and errors" in result.stderr:
                    open(sign, "w").close()

            result = self.session.finish(self.session.start(code), on_message=seen)
            self.assertEqual((result.status, result.stdout), ("ok", "half a line whole\n"))

    def test_html_and_pictures_are_displayed(self):
        result = self.ok('#include <xcpp/xdisplay.hpp>\nstruct Page { std::string text; };\n'
                         'nl::json mime_bundle_repr(const Page& page) {\n  auto bundle = nl::json::object();\n  bundle["text/html"] = page.text;\n  return bundle;\n}\n'
                         'struct Picture {};\nxcpp::mime_bundle mime_bundle_repr(const Picture&) {\n'
                         '  return xcpp::mime_bundle().add("image/svg+xml", "<svg/>").add("text/plain", "a \\"picture\\"");\n}\n'
                         'xcpp::display(Page{"<b>bold</b>"});\nPicture picture;\npicture')
        self.assertEqual(result.displays, [{"text/html": "<b>bold</b>"}, {"image/svg+xml": "<svg/>", "text/plain": 'a "picture"'}])

    def test_a_display_can_be_updated(self):
        result = self.ok('xcpp::display(1, "counter");\nxcpp::display(2, "counter", true);\nxcpp::clear_output(true);')
        self.assertEqual([kind for kind in result.events if kind not in ("execute_input", "status")],
                         ["display_data", "update_display_data", "clear_output"])

    def test_names_are_completed(self):
        self.ok("struct Machine { int wheels = 4; void roll_forward() {} };\nMachine my_machine;\nint my_counter = 0;")
        client = self.session.client

        def matches(code):
            reply = self.session.ask(client.complete(code, len(code)))
            return {code[:reply["cursor_start"]] + match for match in reply["matches"]}

        self.assertIn("my_machine", matches("my_m"))
        self.assertIn("int x = my_counter", matches("int x = my_c"))
        self.assertIn("my_machine.roll_forward", matches("my_machine.ro"))

    def test_names_are_explained(self):
        self.ok("// Counts wheels.\n// Twice.\nint count_wheels(int cars) { return 4 * cars; }")
        client = self.session.client
        reply = self.session.ask(client.inspect("count_wheels(3)", 5))
        self.assertTrue(reply["found"])
        self.assertIn("int count_wheels(int cars)", reply["data"]["text/plain"])
        self.assertIn("Counts wheels.", reply["data"]["text/plain"])
        for code in ("?count_wheels", "count_wheels?"):
            self.assertIn("int count_wheels(int cars)", self.session.page(code))
        self.ok("struct Cart {\n  // Moves it.\n  void roll(int metres) {}\n};\nstruct Car : Cart { int seats = 5; };\nCar car;\nCar* parked = &car;")
        for code, text in (("car.roll(3)", "void roll(int metres)"), ("parked->roll(", "void roll(int metres)"), ("car.seats", "int seats"),
                           ("Car other;\nother.roll", "void roll(int metres)")):
            reply = self.session.ask(client.inspect(code, len(code)))
            self.assertTrue(reply["found"], code)
            self.assertIn(text, reply["data"]["text/plain"])
        self.assertIn("Moves it.", self.session.page("?car.roll"))
        self.assertFalse(self.session.ask(client.inspect("no_such_name", 4))["found"])

    def test_a_program_asks_for_input(self):
        client = self.session.client
        request = client.execute("#include <iostream>\nint given = 0;\nstd::cin >> given;\ngiven", allow_stdin=True)
        client.get_stdin_msg(timeout=300)
        client.input("42")
        self.assertEqual(self.session.finish(request).text, "42")

    def test_brackets_decide_whether_a_cell_is_complete(self):
        client = self.session.client
        for code, status in [("int x = 1;", "complete"), ("int f() {", "incomplete"), ('auto s = "{";', "complete"), ("f(1,", "incomplete")]:
            self.assertEqual(self.session.ask(client.is_complete(code))["status"], status, code)

    def test_settings_of_xeus_cling_are_understood(self):
        import os
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "found.h"), "w") as header:
                header.write("inline int found() { return 11; }\n")
            self.assertEqual(self.ok(f'#pragma cling add_include_path("{folder}")\n#include <found.h>\nfound()').text, "11")
        result = self.fails('#pragma cling load("there_is_no_such_library")')
        self.assertIn("there_is_no_such_library", result.error["evalue"])

    def test_thread_local_and_once_initialised_objects(self):
        self.assertEqual(self.ok("#include <future>\nauto later = std::async(std::launch::async, [] { return 7; });\nlater.get()").text, "7")
        self.assertEqual(self.ok("#include <mutex>\nstd::once_flag once;\nint calls = 0;\nfor (int i = 0; i < 3; ++i) std::call_once(once, [] { ++calls; });\ncalls").text, "1")
        self.assertEqual(self.ok("#include <thread>\nint made = 0;\nstruct Counted { Counted() { ++made; } int value = 4; };\nthread_local Counted own;\n"
                                 "int touch() { static Counted shared; return own.value + shared.value; }\n"
                                 "for (int i = 0; i < 3; ++i) { touch(); std::thread(touch).join(); }\nmade").text, "5")

    def test_a_virtual_method_is_defined_later(self):
        self.ok("struct Animal { virtual int legs(); virtual ~Animal() = default; };")
        self.ok("int Animal::legs() { return 4; }")
        self.assertEqual(self.ok("Animal cat;\ncat.legs()").text, "4")
        self.ok("struct Bird : Animal { int legs() override; };")
        self.ok("int Bird::legs() { return 2; }")
        self.assertEqual(self.ok("Bird bird;\nAnimal& some = bird;\nsome.legs() * 10 + cat.legs()").text, "24")

    def test_a_changed_header_is_read_again(self):
        import os
        import tempfile
        guards = {"once.h": "#pragma once\n{}", "guard.h": "// Mine.\n#ifndef GUARD_H\n#define GUARD_H\n{}\n#endif\n"}
        with tempfile.TemporaryDirectory() as folder:
            for name, form in guards.items():
                path = os.path.join(folder, name)
                for value in (1, 2):
                    with open(path, "w") as header:
                        header.write(form.format(f"struct Of_{name[:-2]} {{ int v = {value}; }};\ninline int from_{name[:-2]}() {{ return {value}; }}\n"))
                    for _ in range(2):
                        self.assertEqual(self.ok(f'#include "{path}"\nfrom_{name[:-2]}() + Of_{name[:-2]}().v').text, str(2 * value))
            with open(path, "w") as header:
                header.write("#pragma once\n\nint broken = ;\n")
            self.assertRegex(self.fails(f'#include "{path}"').error["evalue"], r"guard\.h:3:14: error: expected expression")

    def test_magics(self):
        import os
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "made.h")
            self.ok(f"%%file {path}\ninline int of_file() {{ return 12; }}")
            self.ok(f"%%file -a {path}\ninline int more() {{ return 13; }}")
            self.assertEqual(self.ok(f'#include "{path}"\nof_file() + more()').text, "25")
        self.ok("long rounds = 0;")
        self.assertRegex(self.ok("%%timeit -n 5 -r 2\nrounds += 1;\nrounds += 1").stdout, r"per loop \(mean and deviation of 2 runs of 5 loops\)")
        self.assertRegex(self.ok("%timeit -n 3 -r 1 rounds += 1").stdout, "per loop")
        self.assertEqual(self.ok("rounds").text, "23")
        self.assertIn("%%file", self.fails("%%nonsense").error["evalue"])
        self.assertRegex(self.fails("%%timeit\n\nnot_there();").error["evalue"], r"^cell \d+:3:1: error")

    def test_memory_of_a_cell_is_bounded(self):
        result = self.fails("#include <vector>\nstd::vector<std::vector<char>> hoard;\nfor (;;) hoard.emplace_back(1 << 20, 'x');")
        self.assertEqual(result.error["ename"], "TooMuchMemory")
        self.assertIn("LOCKSTEP_NOTEBOOK_MEMORY", result.error["evalue"])
        self.fails("hoard")
        self.assertEqual(self.ok("std::vector<char> modest(1 << 20);\nfor (int i = 0; i < 1000; ++i) modest[i] = 'y';\nmodest.size()").text, "1048576")
        big = self.fails("std::vector<char> big(std::size_t{3} << 30);")
        self.assertEqual(big.error["ename"], "TooMuchMemory")

    def test_a_cell_that_fails_stops_those_that_wait(self):
        first, second = self.session.start("int waits = 1;\nthrow 1;"), self.session.start("waits = 2;")
        self.session.finish(first)
        self.assertEqual(self.session.ask(second)["status"], "aborted")
        self.assertEqual(self.ok("waits").text, "1")

    def test_five_hundred_cells_leave_it_alive(self):
        self.ok("long sum_of_cells = 0;")
        for i in range(500):
            self.ok(f"int step_{i % 50} = {i};\nsum_of_cells += step_{i % 50};")
        self.assertEqual(self.ok("sum_of_cells").text, str(sum(range(500))))


class Ending(unittest.TestCase):
    def setUp(self):
        self.session = Session()

    def tearDown(self):
        self.session.close()

    def test_a_crash_is_reported_and_the_next_cell_runs(self):
        self.session.run("int lost = 3;")
        result = self.session.run('#include <cstdio>\nstd::puts("before");\nint* nowhere = nullptr;\n*nowhere = 1;')
        self.assertEqual((result.status, result.error["ename"], result.stdout), ("error", "KernelRestarted", "before\n"))
        self.assertIn("segmentation fault", result.error["evalue"])
        self.assertIn("the definitions of earlier cells are lost", result.error["evalue"])
        self.assertEqual(self.session.run("2 + 2").text, "4")
        self.assertEqual(self.session.run("lost").status, "error")
        self.assertIn("exit(3)", self.session.run("#include <cstdlib>\nstd::exit(3);").error["evalue"])

    def test_a_restart_forgets_everything(self):
        self.session.run("int forgotten = 1;")
        self.session.manager.restart_kernel(now=True)
        self.session.client.wait_for_ready(timeout=300)
        self.assertEqual(self.session.run("forgotten").status, "error")
        self.assertEqual(self.session.run("3 + 3").text, "6")

    def test_a_restart_while_a_cell_runs(self):
        self.session.start("for (;;) {}")
        self.session.manager.restart_kernel(now=False)
        self.session.client.wait_for_ready(timeout=300)
        self.assertEqual(self.session.run("4 + 4").text, "8")


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)
