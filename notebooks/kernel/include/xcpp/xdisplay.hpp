// xeus-cling's header of this name. xcpp::display itself is there from the start (kernel.hpp).
#pragma once

#include "xcpp/xmime.hpp"
