import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import { type Clock, describeError } from '@holdfast/platform';
import { HELPER_ENVIRONMENT, helper } from '../helpers.ts';
import { RuntimeError } from '../port.ts';
import { PORT_CONNECT_MS } from './limits.ts';
import { sandboxRecord } from './records.ts';
import type { DockerStore } from './store.ts';

export interface PortForwardDeps {
  readonly store: DockerStore;
  readonly clock: Clock;
}

/** Through the address of the pod; what listens only on its loopback is reached from inside its network, where this process may go there. */
export async function forwardPort({ store, clock }: PortForwardDeps, sandboxId: string, port: number): Promise<Duplex> {
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
  return dialInside(clock, pid, port);
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

const CONNECTED = 'c';

/** Says one letter once it is connected, and then only carries bytes. */
const RELAY = `const s=require('net').connect({host:'127.0.0.1',port:+process.argv[1],allowHalfOpen:true},()=>{process.stdout.write('${CONNECTED}');process.stdin.pipe(s);s.pipe(process.stdout)});s.on('error',(e)=>{process.stderr.write(e.message);process.exit(1)})`;

/** By a small process in the network namespace of the pod. */
function dialInside(clock: Clock, pid: number, port: number): Promise<Duplex> {
  const connected = Promise.withResolvers<Duplex>();
  const args = [`--net=${networkOf(pid)}`, process.execPath, '-e', RELAY, String(port)];
  const child = spawn(helper('nsenter'), args, { env: HELPER_ENVIRONMENT, stdio: ['pipe', 'pipe', 'pipe'] });
  const { stdin, stdout, stderr } = child;
  let why = '';
  stderr.on('data', (chunk: Buffer) => {
    why = (why + chunk.toString('utf8')).slice(0, 1_000);
  });
  for (const stream of [stdin, stdout, stderr]) stream.on('error', () => undefined);
  const timer = clock.timer(PORT_CONNECT_MS, () => child.kill('SIGKILL'));
  child.on('error', (error) => {
    timer.cancel();
    connected.reject(refused(port, describeError(error)));
  });
  child.once('exit', () => {
    timer.cancel();
    connected.reject(refused(port, why || 'no answer'));
  });
  stdout.once('readable', () => {
    const first = stdout.read(1) as Buffer | null;
    if (first === null) return;
    timer.cancel();
    const both = Duplex.from({ readable: stdout, writable: stdin });
    both.on('error', () => undefined);
    both.once('close', () => child.kill('SIGKILL'));
    connected.resolve(both);
  });
  return connected.promise;
}
