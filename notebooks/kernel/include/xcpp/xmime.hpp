// xeus-cling's header of this name: nl::json, in which mime_bundle_repr tells how a type is shown.
#pragma once

#include <nlohmann/json.hpp>

namespace nl = nlohmann;

// The usual one is compiled in the kernel already.
extern template class nlohmann::basic_json<>;
