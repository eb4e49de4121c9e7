import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import type { Clock } from '@holdfast/platform';
import { DNS_FORWARD_MS, DNS_PORT } from './limits.ts';
import { FrameReader, framed } from './tcp-frames.ts';

export type Transport = 'udp' | 'tcp';

export interface UpstreamDeps {
  readonly clock: Clock;
  /** Whom the machine asks; looked up at every question, because it may move to another network. */
  readonly servers: () => Promise<readonly string[]>;
  readonly port?: number;
}

interface UpstreamQuery {
  readonly bytes: Buffer;
  readonly transport: Transport;
  /** Aborted: nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** Asks the machine's own name servers, one after the other; rejects when none answers. */
export async function askUpstream(deps: UpstreamDeps, { bytes, transport, signal }: UpstreamQuery): Promise<Buffer> {
  const ask = transport === 'udp' ? askByUdp : askByTcp;
  let last: unknown = new Error('the machine has no name servers');
  for (const server of await deps.servers()) {
    signal.throwIfAborted();
    try {
      return await within(deps.clock, signal, (done) => ask(server, deps.port ?? DNS_PORT, bytes, done));
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

interface Done {
  readonly resolve: (answer: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** `start` answers how to give up. */
function within(clock: Clock, signal: AbortSignal, start: (done: Done) => () => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(DNS_FORWARD_MS, () => end(() => reject(new Error('the name server does not answer'))));
    const end = (tell: () => void): void => {
      timer.cancel();
      signal.removeEventListener('abort', aborted);
      abandon();
      tell();
    };
    const aborted = (): void => end(() => reject(signal.reason));
    signal.addEventListener('abort', aborted);
    const abandon = start({
      resolve: (answer) => end(() => resolve(answer)),
      reject: (error) => end(() => reject(error)),
    });
  });
}

/** Uses a port of its own and accepts only this server's answer to this query: others may send packets, too. */
function askByUdp(server: string, port: number, query: Buffer, { resolve, reject }: Done): () => void {
  const socket = createSocket(isIPv6(server) ? 'udp6' : 'udp4');
  socket.on('error', reject);
  socket.on('message', (answer) => {
    if (answer.length >= 12 && answer.readUInt16BE(0) === query.readUInt16BE(0)) resolve(answer);
  });
  let isClosed = false;
  // There may be no way to it: then the error is given to the callback, and nothing can be sent.
  socket.connect(port, server, (error?: Error) => {
    if (error instanceof Error) reject(error);
    else if (!isClosed) socket.send(query);
  });
  return () => {
    if (!isClosed) socket.close();
    isClosed = true;
  };
}

function askByTcp(server: string, port: number, query: Buffer, { resolve, reject }: Done): () => void {
  const socket = connect(port, server);
  const reader = new FrameReader();
  socket.on('error', reject);
  socket.on('close', () => reject(new Error('the name server hung up')));
  socket.on('data', (chunk) => {
    const [answer] = reader.push(chunk);
    if (answer !== undefined) resolve(answer);
  });
  socket.write(framed(query));
  return () => socket.destroy();
}
