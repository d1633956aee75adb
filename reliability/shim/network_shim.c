/*
 * A machine without a way out: preloaded into a process and everything it starts, it records each attempt to reach
 * anything beyond this machine, and refuses it.
 *
 *   NETWORK_SHIM_LOG   each attempt is a line here: process id, call, what was to be reached
 *
 * Seen are connecting, sending without a connection, and looking up names or addresses. Unix sockets, loopback addresses
 * and the name localhost pass. What makes system calls without the C library is not seen here; a network namespace sees
 * it (reliability/isolation.py).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

static void record(const char *call, const char *what) {
    const char *path = getenv("NETWORK_SHIM_LOG");
    char line[600];
    int kept = errno;
    if (path == NULL) return;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0) {
        int size = snprintf(line, sizeof line, "%d\t%s\t%.400s\n", (int)getpid(), call, what);
        if (size > 0 && syscall(SYS_write, file, line, (size_t)size) < 0) _exit(99);
        syscall(SYS_close, file);
    }
    errno = kept;
}

static int is_local4(uint32_t address) { return (ntohl(address) >> 24) == 127; }

static int is_local6(const struct in6_addr *address) {
    if (IN6_IS_ADDR_LOOPBACK(address)) return 1;
    uint32_t last;
    memcpy(&last, address->s6_addr + 12, sizeof last);
    return IN6_IS_ADDR_V4MAPPED(address) && is_local4(last);
}

/* Whether an address is on this machine; its text is written for the log when it is not. */
static int is_local(const struct sockaddr *address, socklen_t size, char *text, size_t room) {
    char host[INET6_ADDRSTRLEN] = "";
    if (address == NULL || size < sizeof(sa_family_t)) return 1;
    if (address->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        if (is_local4(in->sin_addr.s_addr)) return 1;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(text, room, "%s port %d", host, ntohs(in->sin_port));
        return 0;
    }
    if (address->sa_family == AF_INET6 && size >= sizeof(struct sockaddr_in6)) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)address;
        if (is_local6(&in->sin6_addr)) return 1;
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host);
        snprintf(text, room, "%s port %d", host, ntohs(in->sin6_port));
        return 0;
    }
    /* Unix sockets, netlink, and AF_UNSPEC, which ends an association. */
    return address->sa_family != AF_PACKET;
}

/* Whether a name needs nobody to be asked: localhost, and addresses written in figures. */
static int is_plain(const char *name) {
    unsigned char room[sizeof(struct in6_addr)];
    if (name == NULL || name[0] == '\0' || strcasecmp(name, "localhost") == 0) return 1;
    return inet_pton(AF_INET, name, room) == 1 || inet_pton(AF_INET6, name, room) == 1;
}

static int refuses(const char *call, const struct sockaddr *address, socklen_t size) {
    char text[128] = "";
    if (is_local(address, size, text, sizeof text)) return 0;
    record(call, text);
    errno = ENETUNREACH;
    return 1;
}

static int refuses_name(const char *call, const char *name) {
    if (is_plain(name)) return 0;
    record(call, name);
    return 1;
}

int connect(int file, const struct sockaddr *address, socklen_t size) {
    int (*real)(int, const struct sockaddr *, socklen_t) = next("connect");
    return refuses("connect", address, size) ? -1 : real(file, address, size);
}

ssize_t sendto(int file, const void *data, size_t length, int flags, const struct sockaddr *address, socklen_t size) {
    ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) = next("sendto");
    return refuses("sendto", address, size) ? -1 : real(file, data, length, flags, address, size);
}

ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
    ssize_t (*real)(int, const struct msghdr *, int) = next("sendmsg");
    return refuses("sendmsg", message->msg_name, message->msg_namelen) ? -1 : real(file, message, flags);
}

int sendmmsg(int file, struct mmsghdr *messages, unsigned int count, int flags) {
    int (*real)(int, struct mmsghdr *, unsigned int, int) = next("sendmmsg");
    for (unsigned int number = 0; number < count; number++) {
        struct msghdr *message = &messages[number].msg_hdr;
        if (refuses("sendmmsg", message->msg_name, message->msg_namelen)) return -1;
    }
    return real(file, messages, count, flags);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = next("getaddrinfo");
    return refuses_name("getaddrinfo", name) ? EAI_AGAIN : real(name, service, hints, found);
}

int getnameinfo(const struct sockaddr *address, socklen_t size, char *host, socklen_t host_room, char *service,
                socklen_t service_room, int flags) {
    int (*real)(const struct sockaddr *, socklen_t, char *, socklen_t, char *, socklen_t, int) = next("getnameinfo");
    if (!(flags & NI_NUMERICHOST) && host != NULL && refuses("getnameinfo", address, size)) return EAI_AGAIN;
    return real(address, size, host, host_room, service, service_room, flags);
}

struct hostent *gethostbyname(const char *name) {
    struct hostent *(*real)(const char *) = next("gethostbyname");
    return refuses_name("gethostbyname", name) ? NULL : real(name);
}

struct hostent *gethostbyname2(const char *name, int family) {
    struct hostent *(*real)(const char *, int) = next("gethostbyname2");
    return refuses_name("gethostbyname2", name) ? NULL : real(name, family);
}

int gethostbyname_r(const char *name, struct hostent *entry, char *buffer, size_t room, struct hostent **found,
                    int *problem) {
    int (*real)(const char *, struct hostent *, char *, size_t, struct hostent **, int *) = next("gethostbyname_r");
    if (!refuses_name("gethostbyname_r", name)) return real(name, entry, buffer, room, found, problem);
    *found = NULL;
    *problem = TRY_AGAIN;
    return EAGAIN;
}

int gethostbyname2_r(const char *name, int family, struct hostent *entry, char *buffer, size_t room,
                     struct hostent **found, int *problem) {
    int (*real)(const char *, int, struct hostent *, char *, size_t, struct hostent **, int *) =
        next("gethostbyname2_r");
    if (!refuses_name("gethostbyname2_r", name)) return real(name, family, entry, buffer, room, found, problem);
    *found = NULL;
    *problem = TRY_AGAIN;
    return EAGAIN;
}

/* Looking up the name of an address asks a name server too. */
static int refuses_reverse(const char *call, const void *address, socklen_t size, int family) {
    char text[INET6_ADDRSTRLEN] = "";
    if (family == AF_INET && size == sizeof(struct in_addr)) {
        if (is_local4(((const struct in_addr *)address)->s_addr)) return 0;
    } else if (family == AF_INET6 && size == sizeof(struct in6_addr)) {
        if (is_local6(address)) return 0;
    } else {
        return 0;
    }
    inet_ntop(family, address, text, sizeof text);
    record(call, text);
    return 1;
}

struct hostent *gethostbyaddr(const void *address, socklen_t size, int family) {
    struct hostent *(*real)(const void *, socklen_t, int) = next("gethostbyaddr");
    return refuses_reverse("gethostbyaddr", address, size, family) ? NULL : real(address, size, family);
}

int gethostbyaddr_r(const void *address, socklen_t size, int family, struct hostent *entry, char *buffer, size_t room,
                    struct hostent **found, int *problem) {
    int (*real)(const void *, socklen_t, int, struct hostent *, char *, size_t, struct hostent **, int *) =
        next("gethostbyaddr_r");
    if (!refuses_reverse("gethostbyaddr", address, size, family))
        return real(address, size, family, entry, buffer, room, found, problem);
    *found = NULL;
    *problem = TRY_AGAIN;
    return EAGAIN;
}

/* Questions to a name server, by every name the C library has for them. */
#define QUESTION(function)                                                                                       \
    int function(const char *name, int kind, int type, unsigned char *answer, int room) {                        \
        int (*real)(const char *, int, int, unsigned char *, int) = next(#function);                             \
        if (refuses_name(#function, name) || real == NULL) return -1;                                            \
        return real(name, kind, type, answer, room);                                                             \
    }
QUESTION(res_query)
QUESTION(__res_query)
QUESTION(res_search)
QUESTION(__res_search)

#define QUESTION_OF(function)                                                                                    \
    int function(void *state, const char *name, int kind, int type, unsigned char *answer, int room) {           \
        int (*real)(void *, const char *, int, int, unsigned char *, int) = next(#function);                     \
        if (refuses_name(#function, name) || real == NULL) return -1;                                            \
        return real(state, name, kind, type, answer, room);                                                      \
    }
QUESTION_OF(res_nquery)
QUESTION_OF(__res_nquery)
QUESTION_OF(res_nsearch)
QUESTION_OF(__res_nsearch)
