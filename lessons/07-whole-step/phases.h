// The functions of lessons 1 to 6, each in a namespace of its own: your file where its lesson is done (`lockstep lesson 7` says so to the
// compiler), its solution where it is open. What a file finds in `namespace lesson` it finds here too. Its given.h comes before it, because
// lesson 7 has a file of that name too.
#pragma once

#include "lesson.h"

#ifndef LESSON_1
#define LESSON_1 "../01-replicate/solution.h"
#endif
#ifndef LESSON_2
#define LESSON_2 "../02-shard/solution.h"
#endif
#ifndef LESSON_3
#define LESSON_3 "../03-local-gradients/solution.h"
#endif
#ifndef LESSON_4
#define LESSON_4 "../04-all-reduce/solution.h"
#endif
#ifndef LESSON_5
#define LESSON_5 "../05-update/solution.h"
#endif
#ifndef LESSON_6
#define LESSON_6 "../06-barrier/solution.h"
#endif

namespace phase1 {
using namespace lesson;
}
namespace phase2 {
using namespace lesson;
}
namespace phase3 {
using namespace lesson;
}
namespace phase4 {
using namespace lesson;
}
namespace phase5 {
using namespace lesson;
}
namespace phase6 {
using namespace lesson;
}

#define lesson phase1
#include LESSON_1
#undef lesson

#define lesson phase2
#include LESSON_2
#undef lesson

#define lesson phase3
#include "../03-local-gradients/given.h"
#include LESSON_3
#undef lesson

#define lesson phase4
#include "../04-all-reduce/given.h"
#include LESSON_4
#undef lesson

#define lesson phase5
#include "../05-update/given.h"
#include LESSON_5
#undef lesson

#define lesson phase6
#include LESSON_6
#undef lesson
