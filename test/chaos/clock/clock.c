/*
 * Clocks of its own for a process on Linux with glibc: a wall clock that is moved, and clocks that run slow. It is loaded
 * before the C library, and follows a file (clock-file.ts writes it). A process that may not read the file has the clocks
 * of the machine, and so has what calls the kernel itself (a program that is linked statically).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef CLOCK_FILE
#define CLOCK_FILE "/run/clock/now"
#endif
#define UPTIME_FILE "/proc/uptime"
#define SECOND 1000000000LL
/* A clock that counts from the start of the machine is below it for 30 years, and the wall clock has passed it. */
#define FIRST_WALL_SECOND 946684800LL

/* Nanoseconds; `version` is odd while the rest is written. */
struct clocks {
  _Atomic int64_t version;
  int64_t wall_moved_by;
  /* All clocks are behind by `behind` until the machine has run for `since`, and by `lost_ppm` millionths of what follows more. */
  int64_t behind;
  int64_t since;
  int64_t lost_ppm;
};

static const struct clocks *shared;
/* By how much the clock that includes suspension is ahead of the other. */
static int64_t boot_ahead;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

static int64_t to_ns(const struct timespec *at) { return at->tv_sec * SECOND + at->tv_nsec; }

static void from_ns(int64_t ns, struct timespec *at) {
  at->tv_sec = ns / SECOND;
  at->tv_nsec = ns % SECOND;
}

static struct clocks read_clocks(void) {
  struct clocks read;
  int64_t before;
  do {
    before = atomic_load_explicit(&shared->version, memory_order_acquire);
    memcpy((char *)&read + sizeof before, (const char *)shared + sizeof before, sizeof read - sizeof before);
    atomic_thread_fence(memory_order_acquire);
  } while (before % 2 != 0 || before != atomic_load_explicit(&shared->version, memory_order_relaxed));
  return read;
}

static int64_t behind_at(const struct clocks *clocks, int64_t ran) {
  ran -= clocks->since;
  return clocks->behind + (ran > 0 ? (int64_t)((__int128)ran * clocks->lost_ppm / 1000000) : 0);
}

static int is_wall(clockid_t id) { return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE; }

static int is_span(clockid_t id) { return id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE; }

static int64_t read_real(clockid_t id) {
  struct timespec at;
  real_clock_gettime(id, &at);
  return to_ns(&at);
}

__attribute__((constructor)) static void begin(void) {
  real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int file = open(CLOCK_FILE, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void *memory = mmap(NULL, sizeof(struct clocks), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return;
  boot_ahead = read_real(CLOCK_BOOTTIME) - read_real(CLOCK_MONOTONIC);
  shared = memory;
}

int clock_gettime(clockid_t id, struct timespec *at) {
  if (real_clock_gettime == NULL) begin();
  int failed = real_clock_gettime(id, at);
  if (failed || shared == NULL || !(is_wall(id) || is_span(id) || id == CLOCK_BOOTTIME)) return failed;
  struct clocks clocks = read_clocks();
  int64_t now = to_ns(at);
  /* A second reading could be later than the first by any time, and the clock would go back by what is lost in it. */
  int64_t ran = is_wall(id) ? read_real(CLOCK_BOOTTIME) : is_span(id) ? now + boot_ahead : now;
  from_ns(now - behind_at(&clocks, ran) + (is_wall(id) ? clocks.wall_moved_by : 0), at);
  return 0;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}

/* The C library waits by the clock of the machine. */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
  static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (wait == NULL) wait = (typeof(wait))dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  if (shared == NULL) return wait(cond, mutex, until);
  struct clocks clocks = read_clocks();
  struct timespec then;
  int64_t moved = until->tv_sec < FIRST_WALL_SECOND ? 0 : clocks.wall_moved_by;
  from_ns(to_ns(until) + behind_at(&clocks, read_real(CLOCK_BOOTTIME)) - moved, &then);
  return wait(cond, mutex, &then);
}

/* How long the machine has run, as the kernel writes it. */
static int open_uptime(void) {
  char text[64];
  struct timespec boot;
  clock_gettime(CLOCK_BOOTTIME, &boot);
  int length = snprintf(text, sizeof text, "%lld.%02ld 0.00\n", (long long)boot.tv_sec, boot.tv_nsec / 10000000);
  int file = memfd_create("uptime", MFD_CLOEXEC);
  if (file < 0 || write(file, text, length) != length) return file;
  lseek(file, 0, SEEK_SET);
  return file;
}

int open(const char *path, int flags, ...) {
  static int (*open_file)(const char *, int, ...);
  if (shared != NULL && strcmp(path, UPTIME_FILE) == 0) return open_uptime();
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (open_file == NULL) open_file = (typeof(open_file))dlsym(RTLD_NEXT, "open64");
  return open_file(path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
