import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { invariant } from '@holdfast/platform';

/** A way to a server that tests can cut: bytes pass unchanged, so TLS ends at the server. */
export class SeverableProxy implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #target: { port: number };

  private constructor(parts: { server: Server; sockets: Set<Socket>; target: { port: number }; port: number }) {
    this.#server = parts.server;
    this.#sockets = parts.sockets;
    this.#target = parts.target;
    this.port = parts.port;
  }

  static async start(targetPort: number): Promise<SeverableProxy> {
    const target = { port: targetPort };
    const sockets = new Set<Socket>();
    const server = createServer((inner) => joinSockets(inner, dial(target.port, '127.0.0.1'), sockets));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    invariant(address !== null && typeof address === 'object', 'a listening TCP server has an address');
    return new SeverableProxy({ server, sockets, target, port: address.port });
  }

  /** Ends every connection without a goodbye; new ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** New connections go to another port, as after a restart of the server. */
  lead(port: number): void {
    this.#target.port = port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }
}

function joinSockets(inner: Socket, outer: Socket, sockets: Set<Socket>): void {
  const both = [inner, outer];
  for (const socket of both) {
    sockets.add(socket);
    // A refused or broken half takes the other one with it: the client sees what it would see of the server.
    socket.on('error', () => both.forEach((each) => each.destroy()));
    socket.on('close', () => {
      sockets.delete(socket);
      both.forEach((each) => each.destroy());
    });
  }
  inner.pipe(outer);
  outer.pipe(inner);
}
