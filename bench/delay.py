"""A proxy on loopback that holds every byte back for a while: a database is never on the same machine in the cloud."""

import multiprocessing
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

CHUNK = 1 << 18
_Parcel = tuple[float, bytes]


@contextmanager
def delayed(port: int, *, round_trip_s: float) -> Iterator[int]:
    """Yield a port that leads to `port`, the way there taking `round_trip_s` and the way back nothing."""
    listener = socket.create_server(("127.0.0.1", 0))
    # A process of its own, so that it does not share an interpreter with what is measured.
    proxy = multiprocessing.get_context("fork").Process(target=_serve, args=(listener, port, round_trip_s), daemon=True)
    proxy.start()
    try:
        yield listener.getsockname()[1]
    finally:
        proxy.terminate()
        proxy.join()
        listener.close()


def _serve(listener: socket.socket, port: int, delay_s: float) -> None:
    while True:
        client, _ = listener.accept()
        server = socket.create_connection(("127.0.0.1", port))
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        parcels: queue.SimpleQueue[_Parcel] = queue.SimpleQueue()
        threading.Thread(target=_take, args=(client, parcels, delay_s), daemon=True).start()
        threading.Thread(target=_hand_over, args=(parcels, server), daemon=True).start()
        threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()


def _take(end: socket.socket, parcels: "queue.SimpleQueue[_Parcel]", delay_s: float) -> None:
    data = b"more"
    while data:
        try:
            data = end.recv(CHUNK)
        except OSError:
            data = b""
        parcels.put((time.monotonic() + delay_s, data))


def _hand_over(parcels: "queue.SimpleQueue[_Parcel]", end: socket.socket) -> None:
    while True:
        due_at, data = parcels.get()
        if not data:
            end.close()
            return
        time.sleep(max(0.0, due_at - time.monotonic()))
        try:
            end.sendall(data)
        except OSError:
            return


def _pass_on(start: socket.socket, end: socket.socket) -> None:
    try:
        while data := start.recv(CHUNK):
            end.sendall(data)
    except OSError:
        pass
    end.close()
