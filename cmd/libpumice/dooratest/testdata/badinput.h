// The loop of programs that call an API with bad input, by a table: `PROGRAM FROM` makes each call from that row on, and prints for each
//   ROW <tab> number <tab> line in the table <tab> what is wrong <tab> call <tab> the code that came back <tab> the one that must <tab> AMD's, where it differs
// A row's line is begun before the call, so that a crash is seen.
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
