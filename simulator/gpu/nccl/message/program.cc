#include "simulator/gpu/nccl/message/program.h"

#include <algorithm>
#include <utility>

namespace lockstep::sim::nccl {

void Program::resolve_buffers() {
  if (collective) collective->set_buffers(resolve(send), resolve(receive));
  if (transfer) transfer->buffer = static_cast<std::byte*>(resolve(receive));
}

void ProgramScheduler::add(const ProgramPointer& program) {
  programs_[program->id] = program;
  queues_[program->queue].push_back(program);
  begin_next(program->queue);
}

void ProgramScheduler::arrived(Program& program) {
  program.arrived = true;
  begin_next(program.queue);
}

void ProgramScheduler::wake(std::uint64_t program) {
  runnable_.push_back(program);
  run();
}

bool ProgramScheduler::has_programs_of(int rank) const {
  return std::any_of(programs_.begin(), programs_.end(), [rank](const auto& entry) { return entry.second->queue.rank == rank; });
}

void ProgramScheduler::begin_next(const Program::Queue& queue) {
  const auto found = queues_.find(queue);
  if (found == queues_.end() || found->second.empty()) return;
  Program& first = *found->second.front();
  if (!first.arrived || first.begun) return;
  first.begun = true;
  if (first.transfer ? first.transfer->call.count > 0 : first.collective->what().count > 0) counters_.count_collective(first.queue.rank);
  wake(first.id);
}

void ProgramScheduler::run() {
  if (std::exchange(running_, true)) return;
  for (finish_sent(); !runnable_.empty(); finish_sent()) {
    const auto found = programs_.find(runnable_.front());
    runnable_.pop_front();
    if (found == programs_.end()) continue;
    const ProgramPointer program = found->second;
    std::optional<Result> problem;
    try {
      resume(program);
    } catch (const Result& error) {
      problem = error;
    } catch (const std::exception& error) {
      problem = {ncclInternalError, error.what()};
    }
    if (problem) owner_.program_failed(*problem);
  }
  running_ = false;
}

void ProgramScheduler::resume(const ProgramPointer& program) {
  while (program->at < program->tasks.size()) {
    const Task& task = program->tasks[program->at];
    task.resume();
    if (!task.done()) return;  // it waits for a message
    if (const std::exception_ptr error = task.error()) std::rethrow_exception(error);
    ++program->at;
  }
  ending_.push_back(program);
}

void ProgramScheduler::finish_sent() {
  for (std::size_t i = 0; i < ending_.size();) {
    if (owner_.is_sending(*ending_[i])) {
      ++i;
      continue;
    }
    const ProgramPointer program = ending_[i];
    ending_.erase(ending_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(program);
  }
}

void ProgramScheduler::finish(const ProgramPointer& program) {
  programs_.erase(program->id);
  queues_[program->queue].pop_front();
  release(*program);
  begin_next(program->queue);
  owner_.program_finished();
}

void ProgramScheduler::release(Program& program) {
  if (std::exchange(program.over, true)) return;
  program.tasks.clear();
  open_gate(program.gate);
  counters_.done(program.queue.rank);
}

void ProgramScheduler::cancel_all() {
  const auto programs = std::exchange(programs_, {});
  queues_.clear();
  ending_.clear();
  runnable_.clear();
  for (const auto& [id, program] : programs) release(*program);
}

}  // namespace lockstep::sim::nccl
