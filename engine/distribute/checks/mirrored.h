// Whether the copies are equal: fingerprints of each replica's weights, slots and state, made on its GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/distribute/replica/replica_set.h"

namespace lockstep {

// One word for each copy here: so one for each replica, or one in all where they share it. Everything issued before is done.
std::vector<std::uint64_t> checksums(ReplicaSet& replicas, Phase phase, const StepBatch& batch);
// The word that the copies of all workers have; an Error that names variable, replica and step where they differ.
std::uint64_t require_mirrored(ReplicaSet& replicas, Phase phase, const StepBatch& batch);
void require_copies(const ReplicaSet& replicas);  // an Error where replicas share one: nothing to compare
std::string hexadecimal(std::uint64_t word);

}  // namespace lockstep
