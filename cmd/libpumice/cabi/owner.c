// Which process started this library. A stub asks before it uses one that it finds open: in a child of fork it is dead.
#include <sys/types.h>
#include <unistd.h>

pid_t pumice_owner;

// Before Go starts, like everything that a constructor with a number does.
__attribute__((constructor(101))) static void note_owner(void) { pumice_owner = getpid(); }
