// Virtual cuDNN: dense convolutions by the graph (backend) interface. The older calls, deprecated in cuDNN 9, are not here.
#pragma once

#include <cudnn_graph.h>
