// The loop of programs that call an API with bad input, by a table: `PROGRAM FROM` makes each call from that row on, and prints for each
//   ROW <tab> number <tab> line in the table <tab> what is wrong <tab> call <tab> the code that came back <tab> the one that must <tab> AMD's, where it differs
// A row's line is begun before the call, so that a crash is seen.
#include <sys/mman.h>

// hold keeps an address that was freed from being given out again, until the process ends. It returns 0 when somebody was faster, or when the
// memory is still there because the runtime keeps it.
static inline int hold(void *p, size_t size) {
    return mmap(p, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == p;
}

#define CRASH (-1)
#define DOCUMENTED "documented"
#define LATER "later releases"
#define ORDER "two errors"
#define BAD(what, call, want) AMD(what, call, want, want, "")
#define AMD(what, call, want, theirs, why)                                         \
    if (row++ >= from) {                                                           \
        printf("ROW\t%d\t%d\t%s\t%s\t", row - 1, __LINE__, what, #call);           \
        fflush(stdout);                                                            \
        int got = (int)(call);                                                     \
        printf("%d\t%d\t%d\t%s\n", got, (int)(want), (int)(theirs), why);          \
        fflush(stdout);                                                            \
    }
