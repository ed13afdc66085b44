// SPDX-License-Identifier: GPL-2.0
// Copyright (C) 2026 The vhca authors
/*
 * The guest shell: it runs commands in a test guest for dom0, over TCP. It does
 * what ssh would do, in one small static program without keys. The server forks
 * one process for each command; the client streams stdout and stderr apart and
 * returns the exit status. Test bed only: it trusts everybody on the test bridge.
 *
 * Frame: type (1 byte), length (4 bytes, big endian), data.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { F_STDIN, F_STDOUT, F_STDERR, F_EXIT, F_COMMAND };

#define MAX_FRAME	65536
#define EXIT_TIMEOUT	124
#define EXIT_LOST	255

struct frame {
	uint8_t type;
	uint32_t len;
	char data[MAX_FRAME];
};

static int write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

static int read_all(int fd, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

static int send_frame(int fd, uint8_t type, const void *data, uint32_t len)
{
	char head[5];
	uint32_t be = htonl(len);

	head[0] = type;
	memcpy(head + 1, &be, 4);
	if (write_all(fd, head, sizeof(head)))
		return -1;
	return write_all(fd, data, len);
}

static int recv_frame(int fd, struct frame *f)
{
	char head[5];

	if (read_all(fd, head, sizeof(head)))
		return -1;
	f->type = head[0];
	memcpy(&f->len, head + 1, 4);
	f->len = ntohl(f->len);
	if (f->len >= MAX_FRAME)
		return -1;
	f->data[f->len] = 0;
	return read_all(fd, f->data, f->len);
}

/* Server: starts the shell with three pipes; returns its pid. */
static pid_t start(const char *cmd, int sock, int *in, int *out, int *err)
{
	int p[3][2];
	pid_t pid;

	if (pipe(p[0]) || pipe(p[1]) || pipe(p[2]))
		return -1;
	pid = fork();
	if (pid == 0) {
		setsid();
		dup2(p[0][0], 0);
		dup2(p[1][1], 1);
		dup2(p[2][1], 2);
		for (int i = 0; i < 3; i++) {
			close(p[i][0]);
			close(p[i][1]);
		}
		close(sock);
		signal(SIGPIPE, SIG_DFL);
		signal(SIGCHLD, SIG_DFL);
		execl("/bin/bash", "bash", "-c", cmd, (char *)NULL);
		_exit(127);
	}
	close(p[0][0]);
	close(p[1][1]);
	close(p[2][1]);
	*in = p[0][1];
	*out = p[1][0];
	*err = p[2][0];
	return pid;
}

/* Moves what FD holds to the client; returns 0 when FD is at its end. */
static int forward(int fd, int sock, uint8_t type)
{
	static char buf[32768];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 1;
	if (n <= 0)
		return 0;
	if (send_frame(sock, type, buf, n))
		_exit(1);
	return 1;
}

/* After the shell's exit: what is left in a pipe, without waiting for more. */
static void drain(int fd, int sock, uint8_t type)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (fd >= 0 && poll(&p, 1, 0) == 1 && forward(fd, sock, type))
		;
}

static void feed_stdin(int sock, int *in, pid_t pid)
{
	static struct frame f;

	if (recv_frame(sock, &f)) {
		/* The caller gave up: so must its command. */
		kill(-pid, SIGKILL);
		_exit(1);
	}
	if (*in < 0 || f.type != F_STDIN)
		return;
	if (!f.len || write_all(*in, f.data, f.len)) {
		close(*in);
		*in = -1;
	}
}

/* Server: one connection, one command. */
static void serve(int sock)
{
	static struct frame f;
	int in, out, err, status = 0;
	uint8_t code;
	pid_t pid;

	signal(SIGCHLD, SIG_DFL);
	if (recv_frame(sock, &f) || f.type != F_COMMAND)
		_exit(1);
	pid = start(f.data, sock, &in, &out, &err);
	if (pid < 0)
		_exit(1);
	for (;;) {
		struct pollfd p[3] = {
			{ .fd = sock, .events = POLLIN },
			{ .fd = out, .events = POLLIN },
			{ .fd = err, .events = POLLIN },
		};

		/* The tick notices a shell that left its pipes to others. */
		poll(p, 3, out < 0 && err < 0 ? 10 : 50);
		if (p[0].revents)
			feed_stdin(sock, &in, pid);
		if (p[1].revents && !forward(out, sock, F_STDOUT)) {
			close(out);
			out = -1;
		}
		if (p[2].revents && !forward(err, sock, F_STDERR)) {
			close(err);
			err = -1;
		}
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
	}
	drain(out, sock, F_STDOUT);
	drain(err, sock, F_STDERR);
	code = WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
	send_frame(sock, F_EXIT, &code, 1);
	_exit(0);
}

static int server(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port) };
	int one = 1, ls = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(ls, (struct sockaddr *)&a, sizeof(a)) || listen(ls, 64)) {
		perror("guest-shell: cannot listen");
		return 1;
	}
	for (;;) {
		int sock = accept4(ls, NULL, NULL, SOCK_CLOEXEC);

		if (sock < 0)
			continue;
		setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
		if (fork() == 0) {
			close(ls);
			serve(sock);
		}
		close(sock);
	}
}

static int dial(const char *host, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port) };
	struct timeval tv = { .tv_sec = 10 };
	int one = 1, sock = socket(AF_INET, SOCK_STREAM, 0);

	if (inet_pton(AF_INET, host, &a.sin_addr) != 1)
		return -1;
	/* Bounds connect(); the stream itself is bounded by -t. */
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (connect(sock, (struct sockaddr *)&a, sizeof(a))) {
		close(sock);
		return -1;
	}
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return sock;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* Client: returns the exit status once the server sent it, else -1. */
static int answer(int sock, const char *host)
{
	static struct frame f;

	if (recv_frame(sock, &f)) {
		fprintf(stderr, "guest-shell: %s: connection lost\n", host);
		return EXIT_LOST;
	}
	if (f.type == F_EXIT)
		return (uint8_t)f.data[0];
	if (f.type == F_STDOUT || f.type == F_STDERR)
		write_all(f.type == F_STDOUT ? 1 : 2, f.data, f.len);
	return -1;
}

static int client(const char *host, int port, const char *cmd, int want_stdin,
		  int64_t timeout_ms)
{
	int64_t end = now_ms() + timeout_ms;
	int sock = dial(host, port), rc = -1;

	if (sock < 0 || send_frame(sock, F_COMMAND, cmd, strlen(cmd)) ||
	    (!want_stdin && send_frame(sock, F_STDIN, "", 0))) {
		fprintf(stderr, "guest-shell: %s: no connection\n", host);
		return EXIT_LOST;
	}
	while (rc < 0) {
		struct pollfd p[2] = {
			{ .fd = sock, .events = POLLIN },
			{ .fd = want_stdin ? 0 : -1, .events = POLLIN },
		};
		int64_t left = end - now_ms();

		if (left <= 0) {
			fprintf(stderr, "guest-shell: %s: time-out: %s\n", host, cmd);
			return EXIT_TIMEOUT;
		}
		poll(p, 2, left);
		if (p[0].revents)
			rc = answer(sock, host);
		if (p[1].revents && !forward(0, sock, F_STDIN)) {
			send_frame(sock, F_STDIN, "", 0);
			want_stdin = 0;
		}
	}
	return rc;
}

int main(int argc, char **argv)
{
	int c, want_stdin = 0, serve_port = 0, timeout = 60;

	while ((c = getopt(argc, argv, "s:it:")) != -1) {
		if (c == 's')
			serve_port = atoi(optarg);
		else if (c == 'i')
			want_stdin = 1;
		else if (c == 't')
			timeout = atoi(optarg);
	}
	if (serve_port)
		return server(serve_port);
	if (argc - optind != 3 || strlen(argv[optind + 2]) >= MAX_FRAME) {
		fprintf(stderr, "usage: guest-shell -s PORT\n"
			"       guest-shell [-i] [-t SECONDS] HOST PORT COMMAND\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	return client(argv[optind], atoi(argv[optind + 1]), argv[optind + 2],
		      want_stdin, timeout * 1000LL);
}
