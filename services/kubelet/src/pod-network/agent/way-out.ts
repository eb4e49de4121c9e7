import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { connect, Server, type Socket } from 'node:net';
import { HELPER_ENVIRONMENT, helper } from '../../runtime/helpers.ts';
import { leadDatagramsOut } from './datagrams-out.ts';
import { dialled } from './dialled.ts';
import type { FairPlacesBounds } from './fair-places.ts';
import { PROGRAM_DEADLINE_MS, RELAY_CONNECTIONS_PER_POD_MAX, WAY_OUT_CONNECTIONS_MAX } from './limits.ts';
import { OUT_LINK, OUTSIDE_RULES, outsideCommands, WAY_OUT_PORT, wayOutCommands, wayOutRules } from './plan.ts';
import type { OutsideLine } from './protocol.ts';
import { type GroupOf, join, PodConnections } from './relays.ts';
import { run } from './run.ts';
import { transparencyCommand, wayOutProtocols } from './transparency.ts';

export interface WayOut {
  /** Where the namespace that stands for all other networks is mounted. */
  readonly file: string;
  /** The path of the control plane's socket. */
  readonly outside: string;
  /** The network of all pods. */
  readonly network: string;
  readonly target: string;
  readonly groupOf: GroupOf;
}

/**
 * A way to other networks for TCP and UDP. Connections are routed to a namespace of their own, so network policies see them with
 * the address that the pod asked for. A socket there accepts each of them at that address, and the control plane makes
 * the connection on the machine.
 */
export async function leadOut(way: WayOut): Promise<void> {
  const { file, network } = way;
  await removeParts(file);
  closeSync(openSync(file, 'a', 0o600));
  await run([helper('unshare'), `--net=${file}`, '--', ...ipBatch()], outsideCommands(`/proc/${process.pid}/ns/net`));
  const enter = [helper('nsenter'), `--net=${file}`, '--'];
  const listening = listenInside(enter);
  const protocols = wayOutProtocols();
  let stopDatagrams = (): void => undefined;
  try {
    const [server] = await Promise.all([
      listening,
      run([...enter, helper('nft'), '-f', '-'], OUTSIDE_RULES),
      run([helper('nft'), '-f', '-'], wayOutRules(protocols)),
    ]);
    serveWayOut(server, way);
    if (protocols.includes('udp')) stopDatagrams = leadDatagramsOut(enter, way);
    await run(ipBatch(), wayOutCommands(network));
  } catch (error) {
    stopDatagrams();
    void listening.then((server) => server.close()).catch(() => undefined);
    throw error;
  }
}

const ipBatch = (): readonly string[] => [helper('ip'), '-batch', '-'];

/** What an earlier attempt has made. Without one, nothing is there. */
async function removeParts(file: string): Promise<void> {
  await run([helper('ip'), 'link', 'delete', OUT_LINK]).catch(() => undefined);
  await run([helper('umount'), file]).catch(() => undefined);
}

/** Leads the connections that a server accepts at the addresses of other networks. */
export function serveWayOut(
  server: Server,
  {
    outside,
    target,
    groupOf,
    bounds = { perHolder: RELAY_CONNECTIONS_PER_POD_MAX, all: WAY_OUT_CONNECTIONS_MAX },
  }: Pick<WayOut, 'outside' | 'target' | 'groupOf'> & { readonly bounds?: FairPlacesBounds },
): void {
  const places = new PodConnections(bounds, groupOf);
  server.on('connection', (inner: Socket) => {
    inner.allowHalfOpen = true;
    inner.pause();
    inner.on('error', () => inner.destroy());
    if (places.admit(inner)) void lead(inner, outside, target);
    else inner.resetAndDestroy();
  });
}

/** A connection that cannot be made is reset: the pod's own one is there already. */
async function lead(inner: Socket, outside: string, target: string): Promise<void> {
  const { localAddress: host = '', localPort: port = 0, remoteAddress: from = '' } = inner;
  const outer = connect({ path: outside, allowHalfOpen: true });
  const line: OutsideLine = { target, protocol: 'tcp', from, to: { host, port } };
  outer.on('error', () => outer.destroy());
  inner.once('close', () => outer.destroySoon());
  outer.write(`${JSON.stringify(line)}\n`);
  try {
    await dialled(outer);
    join(inner, outer);
  } catch {
    outer.destroy();
    inner.resetAndDestroy();
  }
}

/** Listens in the namespace, sends the listening socket to its parent, and ends when the parent has it. */
const PROGRAM = `
const { createServer } = require('node:net');
const { spawnSync } = require('node:child_process');
process.on('disconnect', () => process.exit(0));
process.on('message', ({ port, command: [program, ...args] }) => {
  const server = createServer();
  server.on('error', (error) => process.send({ why: error.message }));
  server.listen(port, '0.0.0.0', 4096, () => {
    const { status, error, stderr } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'pipe', server._handle.fd] });
    if (status === 0) process.send({}, server);
    else process.send({ why: error?.message ?? String(stderr) });
  });
});
`;

/** Resolves after the end of the helper: until then it accepts connections, too, and serves none. */
function listenInside(enter: readonly string[]): Promise<Server> {
  const [program, ...args] = [...enter, process.execPath, '-e', PROGRAM];
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: HELPER_ENVIRONMENT,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      timeout: PROGRAM_DEADLINE_MS,
      killSignal: 'SIGKILL',
    });
    let server: Server | undefined;
    let said = 'the helper ended before it listened';
    child.on('error', reject);
    child.on('message', ({ why = said }: { readonly why?: string }, handle) => {
      said = why;
      if (handle instanceof Server) server = handle;
      child.disconnect();
    });
    child.on('exit', () => (server === undefined ? reject(new Error(said)) : resolve(server)));
    child.send({ port: WAY_OUT_PORT, command: transparencyCommand() }, () => undefined);
  });
}
