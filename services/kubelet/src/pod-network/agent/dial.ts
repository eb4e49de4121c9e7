import { spawn } from 'node:child_process';
import { connect, Socket } from 'node:net';
import { HELPER_ENVIRONMENT, helper } from '../../runtime/helpers.ts';
import { DIAL_DEADLINE_MS } from './limits.ts';
import type { DialAnswer, DialLine } from './protocol.ts';
import { join } from './relays.ts';

/** Makes a connection from outside one into the network. */
export async function dial(
  outer: Socket,
  { host, port }: DialLine['dial'],
  namespace: string | undefined,
): Promise<void> {
  try {
    const inner = await connectTo(host, port);
    answer(outer, { connected: true });
    join(outer, inner);
  } catch (error) {
    if (namespace !== undefined && isRefusal(error)) dialInside(outer, namespace, port);
    else refuse(outer, error);
  }
}

export function refuse(outer: Socket, error: unknown): void {
  answer(outer, { refused: error instanceof Error ? error.message : String(error) });
  outer.end();
}

const answer = (outer: Socket, line: DialAnswer): void => void outer.write(`${JSON.stringify(line)}\n`);

function connectTo(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, allowHalfOpen: true });
    socket.setTimeout(DIAL_DEADLINE_MS, () => socket.destroy(new Error(`connect ETIMEDOUT ${host}:${port}`)));
    socket.on('error', reject);
    socket.once('connect', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

const isRefusal = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';

/**
 * A program that listens only on the pod's own loopback address is reached from inside the namespace: this small
 * program runs there and carries the connection over its descriptor 3, which begins with the line of the answer.
 */
const INSIDE = `
const { connect, Socket } = require('node:net');
const outer = new Socket({ fd: 3, allowHalfOpen: true });
const inner = connect({ host: '127.0.0.1', port: Number(process.argv[1]), allowHalfOpen: true });
const say = (line) => outer.write(JSON.stringify(line) + '\\n');
inner.once('error', (error) => { say({ refused: error.message }); outer.end(); outer.resume(); });
inner.once('connect', () => { say({ connected: true }); outer.pipe(inner); inner.pipe(outer); });
outer.on('error', () => process.exit(1));
outer.on('close', () => process.exit(0));
`;

function dialInside(outer: Socket, namespace: string, port: number): void {
  const child = spawn(helper('nsenter'), [`--net=${namespace}`, '--', process.execPath, '-e', INSIDE, String(port)], {
    env: HELPER_ENVIRONMENT,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  child.on('error', (error) => refuse(outer, error));
  const inner = child.stdio[3];
  if (inner instanceof Socket) join(outer, inner);
  outer.on('close', () => child.kill('SIGKILL'));
}
