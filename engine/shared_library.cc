// liblockstep.so is the whole engine archive; a shared library needs one source of its own.
