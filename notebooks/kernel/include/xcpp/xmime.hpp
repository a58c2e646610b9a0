// xeus-cling's header of this name: nl::json, which mime_bundle_repr returns.
#pragma once

#include <nlohmann/json.hpp>

namespace nl = nlohmann;

// The usual one is compiled in the kernel already.
extern template class nlohmann::basic_json<>;
