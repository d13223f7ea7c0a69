"""The yardsticks: servers that pair connections and relay, and play no game at all.

`relays.py trio PORT BYTES` or `relays.py asyncio PORT BYTES`. The first line of a connection is
its name; two that have come are told of each other. Then every line of either is answered with
BYTES bytes to both, one send a side.
"""

import asyncio
import functools
import sys

import trio


def greeting(opponent: str, number: int) -> bytes:
    """What the daemon says at this moment, shortened."""
    return f"* Your opponent is {opponent}. You are Player {number}\r\n".encode()


def reply_of(length: int) -> bytes:
    return (b"x" * (length - 2)) + b"\r\n"


# Trio: serve_tcp, SocketStream, send_all, as its tutorial has it.


class TrioHall:
    def __init__(self, reply: bytes) -> None:
        self.reply = reply
        self.waiting: tuple[str, trio.SocketStream, list[trio.SocketStream]] | None = None

    async def serve(self, stream: trio.SocketStream) -> None:
        buffer = b""
        opponent: list[trio.SocketStream] = []
        named = False
        try:
            async for data in stream:
                buffer += data
                *lines, buffer = buffer.split(b"\n")
                for line in lines:
                    if named:
                        await send(stream, self.reply)
                        await send(opponent[0], self.reply)
                    else:
                        named = True
                        await self.pair(line.decode().strip(), stream, opponent)
        except trio.BrokenResourceError:
            pass

    async def pair(
        self, name: str, stream: trio.SocketStream, opponent: list[trio.SocketStream]
    ) -> None:
        if self.waiting is None:
            self.waiting = (name, stream, opponent)
            return
        (other, other_stream, others_opponent), self.waiting = self.waiting, None
        opponent.append(other_stream)
        others_opponent.append(stream)
        await send(other_stream, greeting(name, 1))
        await send(stream, greeting(other, 2))


async def send(stream: trio.SocketStream, data: bytes) -> None:
    """Bytes reach the client before send_all returns, so its next line may overtake us.

    Trying again is the cheapest way out: a lock for every send would cost the relay more.
    """
    while True:
        try:
            return await stream.send_all(data)
        except trio.BusyResourceError:
            await trio.lowlevel.checkpoint()


# Asyncio: start_server, readline, write and drain.


class AsyncioHall:
    def __init__(self, reply: bytes) -> None:
        self.reply = reply
        self.waiting: tuple[str, asyncio.StreamWriter, list[asyncio.StreamWriter]] | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opponent: list[asyncio.StreamWriter] = []
        try:
            name = (await reader.readline()).decode().strip()
            if not name:
                return  # somebody looked whether we are listening
            self.pair(name, writer, opponent)
            while await reader.readline():
                for to in (writer, opponent[0]):
                    to.write(self.reply)
                    await to.drain()
        except ConnectionError:
            pass

    def pair(
        self, name: str, writer: asyncio.StreamWriter, opponent: list[asyncio.StreamWriter]
    ) -> None:
        if self.waiting is None:
            self.waiting = (name, writer, opponent)
            return
        (other, other_writer, others_opponent), self.waiting = self.waiting, None
        opponent.append(other_writer)
        others_opponent.append(writer)
        other_writer.write(greeting(name, 1))
        writer.write(greeting(other, 2))


async def run_asyncio(port: int, reply: bytes) -> None:
    hall = AsyncioHall(reply)
    server = await asyncio.start_server(hall.serve, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


def main() -> None:
    kind, port, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    reply = reply_of(length)
    if kind == "trio":
        serve = TrioHall(reply).serve
        trio.run(functools.partial(trio.serve_tcp, serve, port, host="127.0.0.1", backlog=1024))
    else:
        asyncio.run(run_asyncio(port, reply))


if __name__ == "__main__":
    main()
