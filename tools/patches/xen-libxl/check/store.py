# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The part of xenstored that xl and vhcactl need, for check.py: the wire protocol
# on a Unix socket, watches and transactions. Permissions are kept but not
# enforced: all clients are domain 0. Runs in a thread of its own.
"""A xenstore server for tests."""
import selectors
import socket
import struct
import threading

(CONTROL, DIRECTORY, READ, GET_PERMS, WATCH, UNWATCH, T_START, T_END, INTRODUCE,
 RELEASE, DOMAIN_PATH, WRITE, MKDIR, RM, SET_PERMS, EVENT, ERROR,
 INTRODUCED) = range(18)
ROOT = {"": (b"", [b"n0"])}


class Failure(Exception):
    """A request that is answered with an error."""


class Client:
    """One connection: what arrived, its watches and transactions."""

    def __init__(self, sock):
        self.sock = sock
        self.data = b""
        self.watches = []
        self.transactions = {}


class Server:
    """The store and its clients."""

    def __init__(self, path):
        self.store = dict(ROOT)
        self.clients = []
        self.next_transaction = 1
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(8)
        self.sel = selectors.DefaultSelector()
        self.sel.register(self.listener, selectors.EVENT_READ)

    # Reads and writes of the test itself.
    def get(self, path):
        with self.lock:
            return self.store[path][0].decode() if path in self.store else None

    def put(self, path, value):
        with self.lock:
            perms = self.store[path][1] if path in self.store else \
                self.parents(self.store, path)
            self.store[path] = (value.encode(), list(perms))
            self.fire(path)

    def tree(self, top):
        """All nodes below top: path in it -> (value, permissions)."""
        with self.lock:
            return {p[len(top):]: (v[0].decode(), b",".join(v[1]).decode())
                    for p, v in self.store.items()
                    if p == top or p.startswith(top + "/")}

    def run(self):
        while True:
            for key, _ in self.sel.select():
                self.ready(key)

    def ready(self, key):
        with self.lock:
            if key.fileobj is self.listener:
                client = Client(self.listener.accept()[0])
                self.clients.append(client)
                self.sel.register(client.sock, selectors.EVENT_READ, client)
            else:
                self.receive(key.data)

    def drop(self, client):
        if client in self.clients:
            self.clients.remove(client)
            self.sel.unregister(client.sock)
            client.sock.close()

    def receive(self, client):
        try:
            data = client.sock.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.drop(client)
            return
        client.data += data
        while len(client.data) >= 16:
            op, req, tx, size = struct.unpack("<IIII", client.data[:16])
            if len(client.data) < 16 + size:
                return
            body = client.data[16:16 + size]
            client.data = client.data[16 + size:]
            self.answer(client, op, req, tx, body)

    def send(self, client, op, req, tx, body):
        try:
            client.sock.sendall(struct.pack("<IIII", op, req, tx, len(body)) +
                                body)
        except OSError:
            self.drop(client)

    def answer(self, client, op, req, tx, body):
        changed = []
        try:
            reply = self.request(client, op, tx, body, changed)
        except Failure as e:
            op, reply = ERROR, str(e).encode() + b"\0"
        self.send(client, op, req, tx, reply)
        if op == WATCH:
            path, token = body.split(b"\0")[:2]
            self.send(client, EVENT, 0, 0, path + b"\0" + token + b"\0")
        for path in changed:
            self.fire(path)

    def fire(self, path):
        for client in list(self.clients):
            for watch, token in list(client.watches):
                w = watch.rstrip("/")
                if path == w or path.startswith(w + "/") or \
                        w.startswith(path + "/"):
                    at = path if path.startswith(w) else watch
                    self.send(client, EVENT, 0, 0, at.encode() + b"\0" +
                              token + b"\0")

    @staticmethod
    def path(raw):
        name = raw.decode("ascii", "replace")
        if not name.startswith(("/", "@")):
            name = "/local/domain/0/" + name
        if "//" in name or not name:
            raise Failure("EINVAL")
        return name.rstrip("/")

    @staticmethod
    def parents(store, path):
        """Makes what is missing above path; returns permissions to inherit."""
        up = path.rsplit("/", 1)[0]
        if up not in store:
            perms = Server.parents(store, up)
            store[up] = (b"", list(perms))
        return store[up][1]

    def request(self, client, op, tx, body, changed):
        if op in (T_START, T_END, WATCH, UNWATCH, DOMAIN_PATH, INTRODUCED):
            return self.control(client, op, tx, body, changed)
        if tx and tx not in client.transactions:
            raise Failure("ENOENT")
        store, log = client.transactions[tx][1:] if tx else (self.store, changed)
        raw, _, rest = body.partition(b"\0")
        path = self.path(raw)
        if op in (WRITE, MKDIR):
            if op == MKDIR and path in store:
                return b"OK\0"
            perms = store[path][1] if path in store else \
                self.parents(store, path)
            store[path] = (rest if op == WRITE else b"", list(perms))
            log.append(path)
            return b"OK\0"
        if path not in store:
            raise Failure("ENOENT")
        if op == READ:
            return store[path][0]
        if op == DIRECTORY:
            names = sorted(p[len(path) + 1:] for p in store
                           if p.startswith(path + "/") and
                           "/" not in p[len(path) + 1:])
            return b"".join(n.encode() + b"\0" for n in names)
        if op == GET_PERMS:
            return b"".join(p + b"\0" for p in store[path][1])
        if op == SET_PERMS:
            store[path] = (store[path][0], rest.rstrip(b"\0").split(b"\0"))
            return b"OK\0"
        if op == RM:
            for p in [p for p in store if p == path or
                      p.startswith(path + "/")]:
                del store[p]
            log.append(path)
            return b"OK\0"
        raise Failure("ENOSYS")

    def control(self, client, op, tx, body, changed):
        words = body.split(b"\0")
        if op == T_START:
            number = self.next_transaction
            self.next_transaction += 1
            client.transactions[number] = (dict(self.store), dict(self.store),
                                           [])
            return b"%d\0" % number
        if op == T_END:
            old, new, log = client.transactions.pop(tx)
            if words[0] == b"T":
                if old != self.store:
                    raise Failure("EAGAIN")
                self.store = new
                changed += log
            return b"OK\0"
        if op == WATCH:
            client.watches.append((self.path(words[0]), words[1]))
            return b"OK\0"
        if op == UNWATCH:
            item = (self.path(words[0]), words[1])
            if item not in client.watches:
                raise Failure("ENOENT")
            client.watches.remove(item)
            return b"OK\0"
        if op == DOMAIN_PATH:
            return b"/local/domain/" + words[0] + b"\0"
        return b"T\0"
