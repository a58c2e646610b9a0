// Files that are replaced at once: a reader finds the old one or the new one, complete, whatever happens in between.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

using Bytes = std::vector<unsigned char>;

// A temporary file in the same folder, written and synced, then renamed over `path`, and the folder synced. Where that fails (disk
// full, no permission) the old file is as it was, the temporary one is gone, and an Error says why. What a process that was killed left
// of its own temporary files for `path` is removed.
void write_file_atomically(const std::string& path, const Bytes& bytes);

// An Error where write_file_atomically would fail whatever the bytes are: a folder, a pipe, a device, a link to nothing, no permission.
// Before an hour of training, not after it. Nothing is left behind.
void require_writable(const std::string& path);

// The whole file; one that claims to be larger than anything we write is an Error.
Bytes read_whole_file(const std::string& path);

}  // namespace lockstep
