# `cmake --install build/sim --prefix FOLDER` gives a normal C++ package:
#
#   find_package(lockstep REQUIRED)
#   target_link_libraries(program PRIVATE lockstep::lockstep)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS lockstep RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS lockstep_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
file(RELATIVE_PATH from_bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set_target_properties(lockstep PROPERTIES INSTALL_RPATH "$ORIGIN/${from_bin_to_lib}")
set_target_properties(lockstep_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
# What they load: kernels for each x86-64 level, the part that speaks MPI and, where they are built, the libraries of `lockstep exec`.
install(DIRECTORY ${PROJECT_BINARY_DIR}/lib/ DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILES_MATCHING PATTERN "liblockstep_kernels.so" PATTERN "liblockstep_mpi.so" PATTERN "liblockstep_ptx.so" PATTERN "liblockstep_ptx_modules.so" PATTERN "lockstep/lib*")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/engine/include/lockstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lockstepConfig.cmake.in ${PROJECT_BINARY_DIR}/lockstepConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lockstepConfig.cmake ${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake DESTINATION ${package_folder})
