"""A TCP proxy that cuts, stalls and refuses connections on demand."""
import select
import socket
import struct
import threading

CHUNK = 1 << 16


class Proxy:
    """Forwards connections to `port` of this machine; listens on `self.port`. One thread moves all bytes."""

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.peers = {}        # each socket to the other side's
        self.stalled = False   # nothing is forwarded
        self.refusing = False  # new connections are reset
        self.budget = None     # bytes until all connections are cut
        self.cuts, self.stopping = 0, False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def cut(self):
        """Resets all connections."""
        with self.lock:
            self._cut()

    def cut_after(self, count):
        """Resets all connections once `count` more bytes went through, in the middle of whatever they belong to."""
        with self.lock:
            self.budget = count

    def stop(self):
        self.stopping = True
        self.thread.join()
        self.cut()
        self.listener.close()

    def _cut(self):
        for each in list(self.peers):
            self._reset(each)
        self.peers.clear()
        self.budget = None
        self.cuts += 1

    @staticmethod
    def _reset(connection):
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
        connection.close()

    def _accept(self):
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        if self.refusing:
            return self._reset(client)
        try:
            server = socket.create_connection(self.target, timeout=1)
        except OSError:
            return self._reset(client)
        for each in (client, server):
            each.settimeout(2)  # of sending
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peers[client], self.peers[server] = server, client

    def _forward(self, source):
        target = self.peers.get(source)
        if target is None:
            return
        try:
            data = source.recv(CHUNK if self.budget is None else min(CHUNK, self.budget + 1))
            if data:
                target.sendall(data)
        except OSError:
            data = b""
        if not data:
            for each in (source, target):
                self.peers.pop(each, None)
                each.close()
        elif self.budget is not None:
            self.budget -= len(data)
            if self.budget <= 0:
                self._cut()

    def _run(self):
        while not self.stopping:
            with self.lock:
                watched = [self.listener, *([] if self.stalled else self.peers)]
            try:
                ready, _, _ = select.select(watched, [], [], 0.02)
            except (OSError, ValueError):  # one was closed meanwhile
                continue
            with self.lock:
                for each in ready:
                    if each is self.listener:
                        self._accept()
                    elif not self.stalled:
                        self._forward(each)
