import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Clock, describeError } from '@holdfast/platform';
import type { InsideDialer } from '../inside-dialer.ts';
import { RuntimeError } from '../port.ts';
import { PORT_CONNECT_MS } from './limits.ts';
import { sandboxRecord } from './records.ts';
import type { DockerStore } from './store.ts';

export interface PortForwardDeps {
  readonly store: DockerStore;
  readonly clock: Clock;
  readonly inside: Pick<InsideDialer, 'dial'>;
}

/** Through the address of the pod; what listens only on its loopback is reached from inside its network, where this process may go there. */
export async function forwardPort(
  { store, clock, inside }: PortForwardDeps,
  sandboxId: string,
  port: number,
): Promise<Duplex> {
  const sandbox = await store.sandbox(sandboxId);
  const { ip, sharesNetwork } = sandboxRecord(sandbox, () => '');
  const { Pid: pid, Running: isRunning } = sandbox.State;
  if (!isRunning) throw new RuntimeError('IllegalState', `sandbox ${sandboxId} does not run`);
  const host = sharesNetwork ? '127.0.0.1' : ip;
  try {
    return await dial(clock, host, port);
  } catch (error) {
    if (sharesNetwork || !canEnter(pid)) throw error;
  }
  try {
    return await inside.dial(networkOf(pid), port);
  } catch (error) {
    throw refused(port, describeError(error));
  }
}

const canEnter = (pid: number): boolean => process.getuid?.() === 0 && pid > 0 && existsSync(networkOf(pid));

const networkOf = (pid: number): string => `/proc/${pid}/ns/net`;

function dial(clock: Clock, host: string, port: number): Promise<Duplex> {
  const connected = Promise.withResolvers<Duplex>();
  const socket = connect({ host, port, allowHalfOpen: true });
  const timer = clock.timer(PORT_CONNECT_MS, () => socket.destroy(new Error('no answer in time')));
  // After the connection is there, the error belongs to its user.
  socket.on('error', (error) => {
    timer.cancel();
    connected.reject(refused(port, describeError(error)));
  });
  socket.once('connect', () => {
    timer.cancel();
    connected.resolve(socket);
  });
  return connected.promise;
}

const refused = (port: number, why: string): RuntimeError =>
  new RuntimeError('Internal', `failed to connect to port ${port} inside the pod: ${why}`);
