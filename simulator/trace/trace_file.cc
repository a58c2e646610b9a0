// The public Trace: a trace's contents behind a handle, to and from files.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lockstep/error.h"
#include "simulator/trace/trace_impl.h"
#include "simulator/trace/trace_summary.h"

namespace lockstep {
namespace {

bool is_page(const std::string& path) {
  const std::string end = std::filesystem::path(path).extension().string();
  return end == ".html" || end == ".htm";
}

}  // namespace

void check_trace_path(const std::string& path) {
  const std::filesystem::path name(path);
  if (!is_page(path) && name.extension() != ".json")
    throw Error(path + ": a trace is a page or a Chrome trace, so its name ends in .html or .json");
  const std::filesystem::path folder = name.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) throw Error(path + ": there is no folder " + folder.string());
}

Trace::Trace() : impl_(std::make_shared<Impl>()) {}

bool Trace::empty() const { return impl_->contents.spans.empty(); }
std::string Trace::html() const { return trace_page(impl_->contents); }
std::string Trace::json() const { return chrome_json(impl_->contents); }
std::string Trace::summary() const { return trace_summary(impl_->contents); }
std::string Trace::compare(const Trace& other, const std::string& name, const std::string& other_name) const {
  return compare_traces(impl_->contents, name, other.impl_->contents, other_name);
}

Trace Trace::load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || std::filesystem::is_directory(path)) throw Error(path + " can't be read: is it there?");
  Trace trace;
  trace.impl_->contents = read_trace(text.str(), path);
  return trace;
}

void Trace::save(const std::string& path) const {
  check_trace_path(path);
  const std::string text = is_page(path) ? html() : json();
  const std::string temporary = path + ".partial." + std::to_string(getpid());
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out) {
      std::remove(temporary.c_str());
      throw Error("The trace could not be written to " + path + ": is the folder there, and is there room?");
    }
  }
  std::error_code problem;
  std::filesystem::rename(temporary, path, problem);
  if (problem) {
    std::remove(temporary.c_str());
    throw Error("The trace could not be written to " + path + ": " + problem.message() + ".");
  }
}

}  // namespace lockstep
