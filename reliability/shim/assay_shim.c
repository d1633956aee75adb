/*
 * A disk that remembers, and a disk that fails: preloaded into one process, it stands between the process and libc for
 * every file under one folder.
 *
 *   ASSAY_SHIM_FOLDER   the folder (an absolute, resolved path); other files are passed through untouched
 *   ASSAY_SHIM_LOG      record mode: each operation that changes a file is appended here, in the order it happened
 *   ASSAY_SHIM_CONTROL  fault mode: a shared page (struct control) that says which call is to fail, and how
 *
 * What is written to FOLDER/ACK never reaches the disk: it becomes a line of the log, so that the order between an
 * acknowledgement and a sync is exact. Real work is done by system calls, so nothing here calls itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    CALL_OPEN = 1,
    CALL_CREATE = 2,
    CALL_WRITE = 4,
    CALL_TRUNCATE = 8,
    CALL_SYNC = 16,
    CALL_READ = 32,
    CALL_REMOVE = 64
};

struct control {
    int64_t calls;    /* counted since it was last set to zero */
    int64_t fail_at;  /* the call that fails; 0: none */
    int64_t sticky;   /* not 0: every later call fails too */
    int64_t error;    /* what errno says */
    int64_t kinds;    /* which calls are counted and fail */
    int64_t failed;   /* how many were made to fail */
};

struct entry {        /* followed by the path and then by the bytes */
    double seconds;
    uint64_t offset;
    uint32_t path_size;
    uint32_t data_size;
    char operation;   /* Create Write Truncate Sync Unlink Rename Acknowledge */
    char padding[7];
};

static char folder[PATH_MAX];
static size_t folder_size;
static int log_file = -1;
static struct control *control;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static int open_plain(const char *path, int flags) {
    return path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

__attribute__((constructor)) static void begin(void) {
    const char *where = getenv("ASSAY_SHIM_FOLDER");
    if (where == NULL) return;
    log_file = open_plain(getenv("ASSAY_SHIM_LOG"), O_CREAT | O_APPEND | O_WRONLY);
    int file = open_plain(getenv("ASSAY_SHIM_CONTROL"), O_RDWR);
    if (file >= 0) {
        void *page = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (page != MAP_FAILED) control = page;
        syscall(SYS_close, file);
    }
    snprintf(folder, sizeof folder, "%s", where);
    folder_size = strlen(folder);
}

/* The name below the folder, "" for the folder itself, NULL for a file that is none of ours. */
static const char *below(const char *path) {
    if (folder_size == 0 || strncmp(path, folder, folder_size) != 0) return NULL;
    if (path[folder_size] == '\0') return path + folder_size;
    return path[folder_size] == '/' ? path + folder_size + 1 : NULL;
}

static const char *name_of(int file, char *buffer) {
    char link[64];
    if (folder_size == 0 || file <= 2 || file == log_file) return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, buffer, PATH_MAX - 1);
    if (size <= 0) return NULL;
    buffer[size] = '\0';
    return below(buffer);
}

static const char *name_of_path(const char *path, char *buffer) {
    if (folder_size == 0 || path == NULL) return NULL;
    if (path[0] == '/') return below(path);
    if (syscall(SYS_getcwd, buffer, PATH_MAX) < 0) return NULL;
    size_t size = strlen(buffer);
    snprintf(buffer + size, PATH_MAX - size, "/%s", path);
    return below(buffer);
}

static int ends_with(const char *name, const char *ending) {
    size_t size = strlen(name), tail = strlen(ending);
    return size >= tail && strcmp(name + size - tail, ending) == 0;
}

/* Shared memory is lost in any power cut. */
static int recorded(const char *name) { return name != NULL && log_file >= 0 && !ends_with(name, "-shm"); }

static void put(const void *bytes, size_t size) {
    const char *next = bytes;
    while (size > 0) {
        ssize_t done = syscall(SYS_write, log_file, next, size);
        if (done <= 0) _exit(99);
        next += done;
        size -= (size_t)done;
    }
}

static void record(char operation, const char *name, uint64_t offset, const void *data, size_t size) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    struct entry entry = {.seconds = seconds, .offset = offset, .operation = operation};
    entry.path_size = (uint32_t)strlen(name);
    entry.data_size = (uint32_t)size;
    put(&entry, sizeof entry);
    put(name, entry.path_size);
    if (size > 0) put(data, size);
}

/* Whether this call is the one that is to fail; errno is set when it is. */
static int fails(const char *name, int kind) {
    if (name == NULL || control == NULL || !(control->kinds & kind)) return 0;
    int64_t call = __atomic_add_fetch(&control->calls, 1, __ATOMIC_SEQ_CST);
    int64_t fail_at = control->fail_at;
    if (fail_at == 0 || call < fail_at || (call > fail_at && !control->sticky)) return 0;
    __atomic_add_fetch(&control->failed, 1, __ATOMIC_SEQ_CST);
    errno = (int)control->error;
    return 1;
}

static int open_any(int at, const char *path, int flags, mode_t mode) {
    char buffer[PATH_MAX + 1];
    const char *name = at == AT_FDCWD || (path != NULL && path[0] == '/') ? name_of_path(path, buffer) : NULL;
    if (name == NULL) return (int)syscall(SYS_openat, at, path, flags, mode);
    struct stat found;
    int is_new = (flags & O_CREAT) && syscall(SYS_newfstatat, AT_FDCWD, path, &found, 0) != 0;
    int writes = (flags & O_ACCMODE) != O_RDONLY;
    /* On a disk mounted read-only, opening for writing fails as making a file does. */
    int refused = is_new || (writes && control != NULL && control->error == EROFS);
    if (fails(name, refused ? CALL_CREATE : CALL_OPEN)) return -1;
    pthread_mutex_lock(&one_at_a_time);
    int file = (int)syscall(SYS_openat, at, path, flags, mode);
    int problem = errno;
    if (file >= 0 && recorded(name) && strcmp(name, "ACK") != 0) {
        if (is_new) record('C', name, 0, NULL, 0);
        else if ((flags & O_TRUNC) && writes) record('T', name, 0, NULL, 0);
    }
    pthread_mutex_unlock(&one_at_a_time);
    errno = problem;
    return file;
}

static mode_t mode_of(int flags, va_list more) { return (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0; }

#define OPEN_BODY(at, path) \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = mode_of(flags, more); \
    va_end(more); \
    return open_any(at, path, flags, mode)

int open(const char *path, int flags, ...) { OPEN_BODY(AT_FDCWD, path); }
int open64(const char *path, int flags, ...) { OPEN_BODY(AT_FDCWD, path); }
int openat(int at, const char *path, int flags, ...) { OPEN_BODY(at, path); }
int openat64(int at, const char *path, int flags, ...) { OPEN_BODY(at, path); }

static ssize_t write_any(int file, const void *data, size_t size, off_t offset, int positioned) {
    char buffer[PATH_MAX + 1];
    const char *name = name_of(file, buffer);
    if (fails(name, CALL_WRITE)) return -1;
    if (!recorded(name))
        return positioned ? syscall(SYS_pwrite64, file, data, size, offset) : syscall(SYS_write, file, data, size);
    pthread_mutex_lock(&one_at_a_time);
    ssize_t done;
    if (strcmp(name, "ACK") == 0) {
        record('A', name, 0, data, size);
        done = (ssize_t)size;
    } else {
        int appends = (int)syscall(SYS_fcntl, file, F_GETFL) & O_APPEND;
        off_t at = positioned ? offset : (off_t)syscall(SYS_lseek, file, 0, appends ? SEEK_END : SEEK_CUR);
        done = positioned ? syscall(SYS_pwrite64, file, data, size, offset) : syscall(SYS_write, file, data, size);
        int problem = errno;
        if (done > 0) record('W', name, (uint64_t)at, data, (size_t)done);
        errno = problem;
    }
    pthread_mutex_unlock(&one_at_a_time);
    return done;
}

ssize_t write(int file, const void *data, size_t size) { return write_any(file, data, size, 0, 0); }
ssize_t pwrite(int file, const void *data, size_t size, off_t at) { return write_any(file, data, size, at, 1); }
ssize_t pwrite64(int file, const void *data, size_t size, off_t at) { return write_any(file, data, size, at, 1); }

static ssize_t read_any(int file, void *data, size_t size, off_t offset) {
    char buffer[PATH_MAX + 1];
    if (control != NULL && (control->kinds & CALL_READ) && fails(name_of(file, buffer), CALL_READ)) return -1;
    return syscall(SYS_pread64, file, data, size, offset);
}

ssize_t pread(int file, void *data, size_t size, off_t offset) { return read_any(file, data, size, offset); }
ssize_t pread64(int file, void *data, size_t size, off_t offset) { return read_any(file, data, size, offset); }

/* Does the call and records it under one lock, so that the log has the order of the disk. */
#define RECORDED_CALL(name, operation, offset, call) \
    pthread_mutex_lock(&one_at_a_time); \
    int done = (int)(call); \
    int problem = errno; \
    if (done == 0 && recorded(name)) record(operation, name, offset, NULL, 0); \
    pthread_mutex_unlock(&one_at_a_time); \
    errno = problem; \
    return done

static int truncate_any(int file, off_t size) {
    char buffer[PATH_MAX + 1];
    const char *name = name_of(file, buffer);
    if (fails(name, CALL_TRUNCATE)) return -1;
    RECORDED_CALL(name, 'T', (uint64_t)size, syscall(SYS_ftruncate, file, size));
}

int ftruncate(int file, off_t size) { return truncate_any(file, size); }
int ftruncate64(int file, off_t size) { return truncate_any(file, size); }

static int sync_any(int file, long number) {
    char buffer[PATH_MAX + 1];
    const char *name = name_of(file, buffer);
    if (fails(name, CALL_SYNC)) return -1;
    RECORDED_CALL(name, 'S', 0, syscall(number, file));
}

int fsync(int file) { return sync_any(file, SYS_fsync); }
int fdatasync(int file) { return sync_any(file, SYS_fdatasync); }

int unlink(const char *path) {
    char buffer[PATH_MAX + 1];
    const char *name = name_of_path(path, buffer);
    if (fails(name, CALL_REMOVE)) return -1;
    RECORDED_CALL(name, 'U', 0, syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int rename(const char *from, const char *to) {
    char buffer[PATH_MAX + 1], other[PATH_MAX + 1];
    const char *name = name_of_path(from, buffer), *target = name_of_path(to, other);
    if (fails(name, CALL_REMOVE)) return -1;
    pthread_mutex_lock(&one_at_a_time);
    int done = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    int problem = errno;
    if (done == 0 && recorded(name) && target != NULL) record('R', name, 0, target, strlen(target));
    pthread_mutex_unlock(&one_at_a_time);
    errno = problem;
    return done;
}
