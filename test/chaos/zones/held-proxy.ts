import { once } from 'node:events';
import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { freePort } from '../../support/free-port.ts';

/** A server says so in its INFO, behind the CONNECT that has its id. */
const NAME = /"server_name":"([^"]+)"/;
const NAME_WITHIN_CHARACTERS = 16_384;

/** One connection through the proxy. It is known who began it when that one has introduced itself. */
interface Passage {
  readonly sockets: readonly [Socket, Socket];
  from: string | undefined;
  /** What waits while the passage is held. */
  readonly waiting: (() => void)[];
}

/**
 * A way to a server that can fall silent without ending: bytes wait, connections stay open, and new ones are accepted, as
 * in a network that loses packets. Routes of NATS servers tell their names, so that one zone can be held alone.
 */
export class HeldProxy implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;
  readonly #passages = new Set<Passage>();
  #isHeld: (from: string | undefined) => boolean = () => false;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async start(targetPort: number): Promise<HeldProxy> {
    const server = createServer();
    // Not any port: one that was given to a server of the test may not be open yet.
    const port = await freePort();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new HeldProxy(server, port);
    server.on('connection', (inner) => proxy.#join(inner, dial(targetPort, '127.0.0.1')));
    return proxy;
  }

  /** From now on, holds the connections of those for whom this is true. */
  hold(isHeld: (from: string | undefined) => boolean): void {
    this.#isHeld = isHeld;
    for (const passage of this.#passages) this.#flow(passage);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const { sockets } of this.#passages) for (const socket of sockets) socket.destroy();
    await closed;
  }

  #join(inner: Socket, outer: Socket): void {
    const passage: Passage = { sockets: [inner, outer], from: undefined, waiting: [] };
    this.#passages.add(passage);
    let greeting = '';
    inner.on('data', (data) => {
      if (passage.from === undefined && greeting.length < NAME_WITHIN_CHARACTERS) {
        greeting += data.toString('latin1');
        passage.from = NAME.exec(greeting)?.[1];
      }
      passage.waiting.push(() => pass(data, inner, outer));
      this.#flow(passage);
    });
    outer.on('data', (data) => {
      passage.waiting.push(() => pass(data, outer, inner));
      this.#flow(passage);
    });
    for (const socket of passage.sockets) {
      socket.on('error', () => undefined);
      // The other side hears of an end as of everything else: when the way is free.
      socket.on('close', () => {
        passage.waiting.push(() => this.#end(passage));
        this.#flow(passage);
      });
    }
  }

  #flow(passage: Passage): void {
    if (this.#isHeld(passage.from)) {
      for (const socket of passage.sockets) socket.pause();
      return;
    }
    for (const each of passage.waiting.splice(0)) each();
    for (const socket of passage.sockets) socket.resume();
  }

  #end(passage: Passage): void {
    this.#passages.delete(passage);
    for (const socket of passage.sockets) socket.destroy();
  }
}

function pass(data: Buffer, source: Socket, target: Socket): void {
  if (target.write(data)) return;
  source.pause();
  if (target.listenerCount('drain') === 0) target.once('drain', () => source.resume());
}
