import { readFileSync } from 'node:fs';
import type { Duplex, Readable } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import type { SpdySession, SpdyStream } from '../../streaming/spdy/session.ts';
import { type AttachRequest, type ProcessStreams, RuntimeError, type RuntimeStreams } from '../port.ts';
import type { CallLimits, CriConnection } from './connection.ts';
import type { CriContainers } from './containers.ts';
import { ContainerState, type ContainerStatus as CriContainerStatus } from './generated/cri_pb.js';
import { hasStdin } from './labels.ts';
import {
  CONTAINER_END_LOOKS,
  CONTAINER_END_POLL_MS,
  CONTAINER_STOP_LOOKS,
  PORT_REFUSAL_MS,
  QUICK_DEADLINE_MS,
} from './limits.ts';
import type { CriStore } from './store.ts';
import { openStreams } from './stream-client.ts';

export interface StreamsDeps {
  readonly connection: CriConnection;
  readonly store: CriStore;
  readonly containers: Pick<CriContainers, 'isStopping'>;
  readonly clock: Clock;
}

const QUICK: CallLimits = { deadlineMs: QUICK_DEADLINE_MS };
const COMMAND_PROTOCOL = 'v4.channel.k8s.io';
const PORT_PROTOCOL = 'portforward.k8s.io';

/** Through the streaming server of the runtime, in the protocol of Kubernetes. */
export function createStreams(deps: StreamsDeps): RuntimeStreams {
  const { connection, store, clock } = deps;
  const ask = async (id: string, get: (status: CriContainerStatus) => Promise<string>): Promise<SpdySession> => {
    const status = await runningContainer(store, id);
    try {
      return await openStreams(await get(status), COMMAND_PROTOCOL, clock);
    } catch (error) {
      await runningContainer(store, id);
      throw error;
    }
  };
  return {
    exec: async (id, { command, stdin, stdout, stderr, tty }) => {
      // The interface knows no command without any stream.
      const wanted = { stdin, stdout: stdout || !stdin, stderr: stderr && !tty, tty };
      const session = await ask(id, async () => {
        const request = { containerId: id, cmd: [...command], ...wanted };
        return (await connection.call(QUICK, ({ runtime }, options) => runtime.exec(request, options))).url;
      });
      const streams = openAll(session, wanted);
      if (!stdout) streams.get('stdout')?.resume();
      const end = ended(streams).catch((error: unknown) => killedWith(deps, id, error));
      return processStreams(session, streams, { given: { stdin, stdout, stderr, tty }, ended: end });
    },
    attach: async (id, { stdin: asked, stdout, stderr, tty }) => {
      let wanted: AttachRequest = { stdin: asked, stdout, stderr: stderr && !tty, tty };
      const session = await ask(id, async (status) => {
        wanted = { ...wanted, stdin: asked && hasStdin(status.annotations) };
        const request = { containerId: id, ...wanted };
        return (await connection.call(QUICK, ({ runtime }, options) => runtime.attach(request, options))).url;
      });
      const streams = openAll(session, wanted);
      const end = ended(streams)
        .catch(() => undefined)
        .then(() => exitCodeOf(store, id));
      return processStreams(session, streams, { given: wanted, ended: end });
    },
    portForward: (sandbox, port) => forward(deps, sandbox, port),
  };
}

async function runningContainer(store: CriStore, id: string): Promise<CriContainerStatus> {
  const status = await store.container(id);
  if (status === undefined) throw new RuntimeError('NotFound', `container ${id} does not exist`);
  if (status.state === ContainerState.CONTAINER_RUNNING) return status;
  throw new RuntimeError('IllegalState', `container ${id} does not run`);
}

type Streams = ReadonlyMap<string, SpdyStream>;

/** The server counts on all of them, whatever their order. */
function openAll(session: SpdySession, { stdin, stdout, stderr, tty }: AttachRequest): Streams {
  const names = [
    'error',
    ...(stdin ? ['stdin'] : []),
    ...(stdout ? ['stdout'] : []),
    ...(stderr ? ['stderr'] : []),
    ...(tty ? ['resize'] : []),
  ];
  const streams = new Map(names.map((name) => [name, session.openStream({ streamtype: name })]));
  streams.get('error')?.end();
  return streams;
}

function processStreams(
  session: SpdySession,
  streams: Streams,
  { given, ended: end }: { readonly given: AttachRequest; readonly ended: Promise<{ readonly exitCode: number }> },
): ProcessStreams {
  const [stdin, stdout, stderr] = ['stdin', 'stdout', 'stderr'].map((name) => streams.get(name));
  // Callers need not await it.
  end.catch(() => undefined);
  void end.then(
    () => session.close(),
    () => session.close(),
  );
  // Unread input would block everything else.
  stdin?.resume();
  return {
    ...(given.stdin && stdin !== undefined ? { stdin } : {}),
    ...(given.stdout && stdout !== undefined ? { stdout } : {}),
    ...(given.stderr && stderr !== undefined ? { stderr } : {}),
    resize: ({ width, height }) => void streams.get('resize')?.write(JSON.stringify({ Width: width, Height: height })),
    ended: end,
    close: () => {
      // Unread data would keep the connection from ending.
      for (const stream of streams.values()) stream.destroy();
      session.close();
    },
  };
}

/** A command that could not be started because its container ended just then was killed with it. */
async function killedWith(deps: StreamsDeps, id: string, error: unknown): Promise<{ exitCode: number }> {
  const { store, containers, clock } = deps;
  for (let look = 1; ; look++) {
    // Read before the poll: after the last stop the container is seen as ended.
    const looksMax = containers.isStopping(id) ? CONTAINER_STOP_LOOKS : CONTAINER_END_LOOKS;
    const status = await store.container(id);
    if (status?.state !== ContainerState.CONTAINER_RUNNING) return { exitCode: KILLED };
    if (look >= looksMax) throw error;
    await clock.sleep(CONTAINER_END_POLL_MS);
  }
}

const KILLED = 137;

/** The server's final message on the error stream. */
async function ended(streams: Streams): Promise<{ readonly exitCode: number }> {
  const text = await readAll(streams.get('error'));
  if (text === '') throw new RuntimeError('Unavailable', 'the stream ended before the command did');
  const { status, message, details } = JSON.parse(text) as {
    readonly status?: string;
    readonly message?: string;
    readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
  };
  if (status === 'Success') return { exitCode: 0 };
  const code = details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  if (code !== undefined) return { exitCode: Number(code) };
  throw new RuntimeError('Internal', message ?? 'the command could not be run');
}

async function exitCodeOf(store: CriStore, id: string): Promise<{ readonly exitCode: number }> {
  const status = await store.container(id);
  return { exitCode: status?.state === ContainerState.CONTAINER_EXITED ? status.exitCode : 0 };
}

async function readAll(stream: Readable | undefined): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of stream ?? []) chunks.push(chunk);
  } catch {
    // Cut off: what came counts.
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function forward({ connection, clock }: StreamsDeps, sandbox: string, port: number): Promise<Duplex> {
  const [{ status, info }, { url }] = await Promise.all([
    connection.call(QUICK, ({ runtime }, options) =>
      runtime.podSandboxStatus({ podSandboxId: sandbox, verbose: true }, options),
    ),
    connection.call(QUICK, ({ runtime }, options) =>
      runtime.portForward({ podSandboxId: sandbox, port: [port] }, options),
    ),
  ]);
  if (status === undefined) throw new RuntimeError('NotFound', `sandbox ${sandbox} does not exist`);
  const session = await openStreams(url, PORT_PROTOCOL, clock);
  const headers = { port: String(port), requestid: '0' };
  const error = session.openStream({ ...headers, streamtype: 'error' });
  error.end();
  const data = session.openStream({ ...headers, streamtype: 'data' });
  data.once('close', () => session.close());
  const refused = readAll(error).then((text) => {
    if (text === '') return undefined;
    const refusal = new RuntimeError('Internal', text);
    data.destroy(refusal);
    throw refusal;
  });
  refused.catch(() => undefined);
  if (!hasListener(info['info'], port)) {
    const waited = Promise.withResolvers<undefined>();
    const timer = clock.timer(PORT_REFUSAL_MS, () => waited.resolve(undefined));
    await Promise.race([refused, waited.promise]).finally(() => timer.cancel());
  }
  return data;
}

/**
 * The protocol reports only refused connections, never established ones. The kernel knows before whether anything
 * listens, when the pod's network namespace is on this machine.
 */
function hasListener(info: string | undefined, port: number): boolean {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  try {
    const { pid } = JSON.parse(info ?? '{}') as { readonly pid?: number };
    const sockets = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8').split('\n'));
    return sockets.some((line) => {
      const [, local = '', , state] = line.trim().split(/\s+/);
      return local.endsWith(wanted) && state === LISTENING;
    });
  } catch {
    return false;
  }
}

const LISTENING = '0A';
