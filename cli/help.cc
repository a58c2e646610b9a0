#include "cli/help.h"

#include <sstream>

#include "cli/text.h"

namespace lockstep::cli {
namespace {

constexpr std::size_t kColumn = 30;  // where descriptions begin
constexpr std::size_t kWidth = 80;

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kColumn); }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_items_expected_max() == 0) return "";
    std::string kind = option->get_type_name();
    const std::size_t type = kind.find(':');  // INT:N, TEXT:a|b: only the validator's part
    if (type != std::string::npos && kind.compare(0, 4, "gpu:") != 0) kind = kind.substr(type + 1);
    const std::size_t second = kind.rfind(':');  // of two validators the last one is the more specific
    if (second != std::string::npos && kind.find("gpu:") == std::string::npos) kind = kind.substr(second + 1);
    if (kind.find('|') != std::string::npos && kind.size() > 60) kind = "NAME";
    return " " + kind + (option->get_items_expected_max() > 1 ? ",..." : "");
  }
  std::string make_option_desc(const CLI::Option* option) const override { return wrapped(option->get_description(), kWidth - kColumn); }
  std::string make_subcommand(const CLI::App* sub) const override {
    std::stringstream out;
    CLI::detail::format_help(out, sub->get_name(), wrapped(sub->get_description(), kWidth - kColumn), column_width_);
    return out.str();
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() { return std::make_shared<HelpFormatter>(); }

}  // namespace lockstep::cli
