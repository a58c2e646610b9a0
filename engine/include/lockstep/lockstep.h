// The one header of Lockstep: synchronous mirrored training, Keras-like, in C++.
//
// It includes no CUDA and no third-party header, and compiles as C++17: an interpreter reads it in a notebook cell.
#pragma once

#include "lockstep/applications.h"
#include "lockstep/array.h"
#include "lockstep/backup_and_restore.h"
#include "lockstep/callbacks.h"
#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/gradient_tape.h"
#include "lockstep/images.h"
#include "lockstep/layers.h"
#include "lockstep/logical.h"
#include "lockstep/losses.h"
#include "lockstep/model.h"
#include "lockstep/optimizers.h"
#include "lockstep/replica_report.h"
#include "lockstep/reuters_names.h"
#include "lockstep/sequence_layers.h"
#include "lockstep/sequences.h"
#include "lockstep/shape.h"
#include "lockstep/strategy.h"
#include "lockstep/trace.h"
#include "lockstep/training_place.h"
#include "lockstep/variable.h"
