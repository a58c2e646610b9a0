// The message about a race: which operation was issued first, what both do, two lanes that show it, and one sentence with the fix.
//
// The order is that of the calls in the program, whichever operation happened to run first, so the message is the same in every run.
#include <algorithm>

#include "simulator/gpu/check/check_mode.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kLongestName = 22;

std::string does(bool writes) { return writes ? "writes" : "reads"; }

// "[ 'copy' writes ]"
std::string box(const Issue& issue, bool writes) {
  const std::string name = issue.name.size() > kLongestName ? issue.name.substr(0, kLongestName - 2) + ".." : issue.name;
  return "[ " + name + " " + does(writes) + " ]";
}

std::string padded(const std::string& text, std::size_t width) { return text + std::string(width - std::min(width, text.size()), ' '); }

// Time runs to the right:
//   stream 1 of device 0  --[ produce writes ]--------------------->
//   stream 2 of device 0  ------------------------[ consume reads ]->
std::string lanes(const Issue& first, bool first_writes, const Issue& second, bool second_writes) {
  constexpr std::size_t kColumns = 66;
  const std::string left = box(first, first_writes), right = box(second, second_writes);
  const std::size_t names = std::max(first.stream.size(), second.stream.size()) + 2;
  // Where there is no room for one behind the other they overlap, as they may when they run.
  const std::size_t room = std::max<std::size_t>(kColumns, names + right.size() + 4) - names - right.size() - 1;
  const std::size_t offset = std::min(left.size() + 4, room);
  const std::size_t end = std::max(left.size() + 2, offset + right.size());
  const auto lane = [&](const Issue& issue, std::size_t at, const std::string& what) {
    return "\n    " + padded(issue.stream, names) + std::string(at, '-') + what + std::string(end - at - what.size(), '-') + ">";
  };
  return lane(first, 2, left) + lane(second, offset, right);
}

}  // namespace

// Empty: it is not known which code the reader can change, or the call was made in other code.
std::string CheckMode::place_of(const Issue& issue) const {
  if (place_of_call_ == nullptr) return "";
  return place_of_call_(std::vector<const void*>(issue.site.frames.begin(), issue.site.frames.begin() + issue.site.count));
}

std::string CheckMode::race_fix(const Access& first, const Access& second) const {
  const Issue &one = *first.issue, &two = *second.issue;
  const std::string one_place = place_of(one), two_place = place_of(two);
  const auto named = [](const Issue& issue, const std::string& place) {
    return "'" + issue.name + "'" + (place.empty() ? "" : " (" + place + ")");
  };
  const std::string record = "cudaEventRecord(event, " + one.stream + ") " +
                             (place_of_call_ != nullptr && one_place.empty() ? "in your function, which comes after '" + one.name + "'"
                                                                             : "after " + named(one, one_place));
  if (order_.has_waited_for(second, first.stream, one.number)) {
    return two.stream + " did wait for " + one.stream + ", but for a moment before '" + one.name +
           "': the event was recorded too early.\n  Fix: " + record + "; the wait is there already.";
  }
  std::string text = two.stream;
  if (order_.has_waited_for(second, first.stream)) {
    text += " waited for " + one.stream + " before '" + one.name + "' was issued, and not again since";
  } else {
    text += " has never waited for " + one.stream;
    const std::vector<std::string> waited = order_.waited_for(second);
    for (std::size_t i = 0; i < waited.size() && i < 3; ++i) text += (i == 0 ? "; it has waited only for " : ", ") + waited[i];
  }
  text += ".\n  Fix: " + record + ", then cudaStreamWaitEvent(" + two.stream + ", event) ";
  // Code that the reader can't change follows the reader's own.
  if (place_of_call_ != nullptr && two_place.empty()) return text + "before your function returns: '" + two.name + "' comes after it.";
  return text + "before " + named(two, two_place) + ".";
}

std::string CheckMode::race_text(const Access& access, bool writes, const Conflict& conflict) const {
  const bool swapped = access.issue->number < conflict.earlier.issue->number;
  const Access &first = swapped ? access : conflict.earlier, &second = swapped ? conflict.earlier : access;
  const bool first_writes = swapped ? writes : conflict.earlier_wrote, second_writes = swapped ? conflict.earlier_wrote : writes;
  const auto named = [&](const Issue& issue) {
    std::string place = place_of(issue);
    if (place.empty() && place_of_call_ != nullptr) place = "the lesson's own";
    return "'" + issue.name + "' on " + issue.stream + (place.empty() ? "" : " (" + place + ")");
  };
  const Issue &one = *first.issue, &two = *second.issue;
  return "race: " + named(one) + " " + does(first_writes) + " " + place(conflict.begin, conflict.end) + ", then " + named(two) + " " +
         does(second_writes) + (first_writes && second_writes ? " it too" : " it") + ", and nothing orders the two." +
         lanes(one, first_writes, two, second_writes) + "\n  " + race_fix(first, second) + "\n  '" + one.name + "' was issued by " +
         describe(one.site) + ".\n  '" + two.name + "' was issued by " + describe(two.site) + ".";
}

}  // namespace lockstep::sim
