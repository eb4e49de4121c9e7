import type { Readable, Writable } from 'node:stream';
import { describeError } from '@holdfast/platform';
import type { ProcessStreams } from '../runtime/port.ts';
import type { CommandConnection, StreamEnd } from './command-connection.ts';

/** Joins a client with a process until one of them ends. A client that goes away takes its command with it. */
export async function runCommand(
  connection: CommandConnection,
  open: () => Promise<ProcessStreams>,
  what: string,
): Promise<void> {
  let streams: ProcessStreams;
  try {
    streams = await open();
  } catch (error) {
    connection.finish({ kind: 'error', message: `${what}: ${describeError(error)}` });
    return;
  }
  const { closed } = connection;
  void closed.then(() => streams.close());
  connection.onResize((size) => streams.resize(size));
  carryInput(connection.stdin, streams.stdin);
  const outputs = [carryOutput(streams.stdout, connection.stdout), carryOutput(streams.stderr, connection.stderr)];
  const ended = streams.ended.then(
    ({ exitCode }): StreamEnd => (exitCode === 0 ? { kind: 'success' } : { kind: 'exitCode', exitCode }),
    (error: unknown): StreamEnd => ({ kind: 'error', message: `${what}: ${describeError(error)}` }),
  );
  const end = await Promise.race([Promise.all([ended, ...outputs]).then(([first]) => first), closed]);
  if (end !== undefined) connection.finish(end);
  await closed;
}

/** Unused input is read anyway: the end of the connection comes after it. */
function carryInput(from: Readable | undefined, to: Writable | undefined): void {
  if (from === undefined) return;
  if (to === undefined) {
    from.resume();
    return;
  }
  to.on('error', () => {
    from.unpipe(to);
    from.resume();
  });
  from.pipe(to);
}

/** Resolves when everything was handed over. */
function carryOutput(from: Readable | undefined, to: Writable | undefined): Promise<void> {
  if (from === undefined) return Promise.resolve();
  const done = Promise.withResolvers<void>();
  from.on('error', () => done.resolve());
  from.once('close', () => {
    if (!from.readableEnded) done.resolve();
  });
  if (to === undefined) {
    from.once('end', () => done.resolve());
    from.resume();
  } else {
    to.on('error', () => from.destroy());
    from.once('end', () => to.write(new Uint8Array(), () => done.resolve()));
    from.pipe(to, { end: false });
  }
  return done.promise;
}
