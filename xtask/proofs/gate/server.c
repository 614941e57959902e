/* One thread, epoll, HTTP/1.1 that keeps its connections: app PORT. The shift moves all that follows, as another order
 * of linking would: it is the build's own. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
__asm__(".text\n.skip " TEXT(SHIFT) "\n");

static volatile unsigned sink;

static __attribute__((noinline)) void hot(void) {
    unsigned value = 1;
    for (int round = 0; round < ROUNDS; round++) {
        value = value * 1664525 + 1013904223;
        __asm__ volatile("" : "+r"(value));
    }
    sink = value;
}

int main(int count, char **words) {
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(count > 1 ? atoi(words[1]) : 0)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 1024)) return 1;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    while (epoll_wait(poll, &event, 1, -1) == 1) {
        int from = event.data.fd;
        if (from == listener) {
            struct epoll_event added = {.events = EPOLLIN, .data.fd = accept(listener, 0, 0)};
            epoll_ctl(poll, EPOLL_CTL_ADD, added.data.fd, &added);
            continue;
        }
        char request[4096];
        ssize_t length = read(from, request, sizeof request);
        if (length < 4 || memcmp(request + length - 4, "\r\n\r\n", 4)) {
            close(from);
            continue;
        }
        hot();
        if (write(from, answer, sizeof answer - 1) < 0) close(from);
    }
    return 1;
}
