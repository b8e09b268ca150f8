// See process.c.
void process_settle_signals(void);
void process_watch_forks(void);
void process_watch_memory(void);
