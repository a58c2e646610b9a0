#include "simulator/gpu/check/call_site.h"

#include <execinfo.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "simulator/gpu/check/symbols.h"

namespace lockstep::sim {

namespace {

// A function of NVIDIA's C interfaces: cudaMalloc, ncclAllReduce, cublasLtMatmul, cudnnBackendExecute.
bool is_api(const std::string& name) {
  for (const std::string& prefix : {std::string("cuda"), std::string("nccl"), std::string("cublas"), std::string("cudnn")}) {
    if (name.rfind(prefix, 0) == 0 && name.size() > prefix.size() && name.find(':') == std::string::npos &&
        std::isupper(static_cast<unsigned char>(name[prefix.size()])) != 0) {
      return true;
    }
  }
  return false;
}

bool is_plumbing(const std::string& name) {
  for (const char* prefix : {"std::", "__gnu_cxx::", "testing::", "__libc", "_start", "start_thread", "__clone", "clone"}) {
    if (name.rfind(prefix, 0) == 0) return true;
  }
  return name.empty() || name == "execute_native_thread_routine";
}

// "void lockstep::launch<A, B>(C)" -> "lockstep::launch"; "(anonymous namespace)::" goes as well.
std::string without_parameters(std::string name) {
  const std::string anonymous = "(anonymous namespace)::";
  for (std::size_t at = name.find(anonymous); at != std::string::npos; at = name.find(anonymous)) name.erase(at, anonymous.size());
  std::string plain;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool arrow = i > 0 && name[i] == '>' && name[i - 1] == '-';
    if (name[i] == '<') {
      ++depth;
    } else if (name[i] == '>' && !arrow) {
      --depth;
    } else if (name[i] == '(' && depth == 0) {
      break;
    } else if (depth == 0) {
      plain += name[i];
    }
  }
  const std::size_t space = plain.rfind(' ');  // after the type of the result
  return space == std::string::npos ? plain : plain.substr(space + 1);
}

}  // namespace

std::string function_at(const void* address) { return without_parameters(symbol_at(address)); }

CallSite call_site() {
  CallSite site;
  site.count = backtrace(site.frames.data(), CallSite::kFrames);
  return site;
}

std::string describe(const CallSite& site) {
  std::vector<std::string> names;
  for (int i = 0; i < site.count; ++i) {
    // A return address may be the first byte behind a function that does not return.
    names.push_back(function_at(static_cast<const char*>(site.frames[static_cast<std::size_t>(i)]) - 1));
  }
  // The outermost function of an interface is what was called; below it everything is the virtual GPU's own.
  std::size_t first = 0;
  std::string called;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_api(names[i])) {
      called = names[i];
      first = i + 1;
    } else if (called.empty() && names[i].rfind("lockstep::sim::", 0) == 0) {
      first = i + 1;
    }
  }
  constexpr int kCallers = 4;
  std::string text;
  int named = 0;
  for (std::size_t i = first; i < names.size() && named < kCallers; ++i) {
    if (is_plumbing(names[i]) || (i > first && names[i] == names[i - 1])) continue;
    text += (named == 0 ? "" : ", from ") + names[i];
    ++named;
  }
  if (text.empty()) text = "code without a name";
  return called.empty() ? text : called + " in " + text;
}

}  // namespace lockstep::sim
