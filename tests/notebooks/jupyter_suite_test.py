"""Jupyter's own test suite for kernels."""
import unittest

import jupyter_kernel_test


class CppKernel(jupyter_kernel_test.KernelTests):
    kernel_name = "xcpp17"
    language_name = "C++17"
    file_extension = ".cpp"
    code_hello_world = '#include <iostream>\nstd::cout << "hello, world" << std::endl;'
    code_stderr = '#include <iostream>\nstd::cerr << "oops" << std::endl;'
    code_execute_result = [{"code": "6 * 7", "result": "42"}]
    code_generate_error = 'throw 1;'
    complete_code_samples = ["1", "int a = 3;", "int f() { return 1; }"]
    incomplete_code_samples = ["int f() {", "f(1,"]
    completion_samples = [{"text": "xcpp::disp", "matches": {"display"}}]
    code_inspect_sample = "xcpp::display"
    code_display_data = [{"code": "xcpp::display(5);", "mime": "text/plain"}]
    supported_history_operations = ("tail", "range", "search")
    code_history_pattern = "6 ? 7"
    code_page_something = "?xcpp::display"
    code_clear_output = "xcpp::clear_output();"


if __name__ == "__main__":
    unittest.main(verbosity=2)
