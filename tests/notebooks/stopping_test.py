"""Interrupts, large outputs, and two notebooks at the same time."""
import sys
import time
import unittest

from kernel_session import Session

LIBRARY = '#pragma cling load("lockstep")\n#include <lockstep/lockstep.h>\nusing namespace lockstep;'


class Stopping(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = Session()

    @classmethod
    def tearDownClass(cls):
        cls.session.close()

    def interrupt_when(self, code, ready, presses=1):
        """Runs a cell and presses the stop button once `ready` says so; each further press waits for the message of the one before."""
        said = []

        def on_message(message, result):
            if message["msg_type"] != "stream" or len(said) == presses:
                return
            if (not said and ready(result)) or (said and result.stderr.count("Interrupt") == len(said)):
                said.append(True)
                self.session.manager.interrupt_kernel()

        return self.session.finish(self.session.start(code), on_message=on_message)

    def test_training_stops_after_the_batch(self):
        self.assertEqual(self.session.run(LIBRARY).status, "ok")
        made = self.session.run("Sequential net({Dense(4)});\nnet.compile(SGD(0.01F), MeanSquaredError());\nArray x(Shape{64, 3}), y(Shape{64, 4});")
        self.assertEqual(made.status, "ok", made.error)
        result = self.interrupt_when("net.fit(x, y, FitOptions().epochs(1000000));\nint unreachable = 1;", lambda result: "Epoch 2/" in result.stdout)
        self.assertEqual((result.status, result.error["ename"]), ("error", "Interrupted"))
        self.assertIn("after its batch", result.stderr)
        self.assertEqual(self.session.run("net.iterations() > 0").text, "true")
        self.assertEqual(self.session.run("unreachable").status, "error")

    def test_loops_of_ones_own_stop(self):
        begin = '#include <iostream>\nlong rounds = 0;\nstd::cout << "spinning" << std::endl;\n'
        helper = "void spin() { for (;;) ++rounds; }\nstruct Spinner { void run(); };\nvoid Spinner::run() { while (true) ++rounds; }\n" \
                 "template <typename T> void spin_of(T v) { do { rounds += v; } while (v); }\n"
        self.assertEqual(self.session.run("long rounds = 0;\n" + helper).status, "ok")
        for loop in ("for (;;) { rounds++; }", "while (true) ++rounds;", "do ++rounds; while (true);", "again: ++rounds; goto again;", "spin();", "Spinner().run();",
                     "spin_of(1);", "[] { for (;;) ++rounds; }();", "for (;;) { try { for (;;) ++rounds; } catch (...) {} }", "for (;;);",
                     "struct Guard { ~Guard() { rounds = -1; } };\n{ Guard guard; for (;;) {} }"):
            wrapped = loop if loop.startswith("struct") else "{ " + loop + " }"
            result = self.interrupt_when(begin + wrapped, lambda result: "spinning" in result.stdout)
            self.assertEqual((result.status, result.error["ename"]), ("error", "Interrupted"), loop)
            self.assertIn("at its next iteration", result.stderr)
        self.assertEqual(self.session.run("rounds").text, "-1")  # the guard's destructor ran

    def test_what_can_not_stop_is_ended_by_the_third_press(self):
        session = self.session
        result = self.interrupt_when('#include <iostream>\n#include <thread>\nstd::cout << "waiting" << std::endl;\nstd::thread([] { for (;;) {} }).join();',
                                     lambda result: "waiting" in result.stdout, presses=3)
        self.assertEqual(result.error["ename"], "KernelRestarted")
        self.assertIn("second press", result.stderr)
        self.assertIn("third press", result.stderr)
        self.assertEqual(session.run("1 + 1").text, "2")

    def test_input_can_be_interrupted(self):
        request = self.session.client.execute("#include <iostream>\nint never_given = 0;\nstd::cin >> never_given;", allow_stdin=True)
        self.session.client.get_stdin_msg(timeout=300)
        self.session.manager.interrupt_kernel()
        self.assertEqual(self.session.finish(request).error["ename"], "Interrupted")
        self.session.run("std::cin.clear();")

    def test_masses_of_output_arrive_whole_and_in_few_messages(self):
        begin = time.monotonic()
        messages = []
        result = self.session.finish(self.session.start('#include <cstdio>\nfor (int i = 0; i < 400000; ++i) std::printf("line %d\\n", i);'),
                                     on_message=lambda message, _: messages.append(message["msg_type"]))
        self.assertEqual(result.stdout, "".join(f"line {i}\n" for i in range(400000)))
        seconds = time.monotonic() - begin
        self.assertLessEqual(messages.count("stream"), 20 * (seconds + 1))

    def test_a_million_lines_are_cut_with_a_notice(self):
        result = self.session.run('#include <iostream>\nfor (int i = 0; i < 1000000; ++i) std::cout << "a line of some length, " << i << "\\n";\nstd::cout << std::flush;')
        whole = "".join(f"a line of some length, {i}\n" for i in range(1000000))
        self.assertEqual(result.stdout, whole[: 5 << 20])
        self.assertRegex(result.stderr, r"Output was cut after 5 MiB: 2\d\.\d MiB more were printed")
        self.assertEqual(self.session.run('std::cout << "short" << std::endl;').stdout, "short\n")

    def test_two_notebooks_at_once(self):
        other = Session()
        try:
            code = "long sum = {0};\nfor (int i = 0; i < 1000000; ++i) sum += i % {1};\nsum"
            here, there = self.session.start(code.format(1, 7)), other.start(code.format(2, 5))
            self.assertEqual(self.session.finish(here).text, str(1 + sum(i % 7 for i in range(1000000))))
            self.assertEqual(other.finish(there).text, str(2 + sum(i % 5 for i in range(1000000))))
            self.assertEqual((self.session.run("sum").text == other.run("sum").text), False)
        finally:
            other.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)
