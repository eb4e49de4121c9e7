import { type MessagePort, parentPort } from 'node:worker_threads';
import { createSystemClock } from '@holdfast/platform/clock';
import { describeError } from '@holdfast/platform/errors';
import { createIds } from '@holdfast/platform/ids';
import { invariant } from '@holdfast/platform/invariant';
import type { Log } from '@holdfast/platform/log';
import type { TlsPair } from '@holdfast/platform/pair-watch';
import { createSystemRandom } from '@holdfast/platform/random';
import { threadData } from '@holdfast/platform/thread-data';
import { createHttpsListener, type HttpsLimits, type HttpsListener } from './https-listener.ts';
import type { Batch, ControlWish, FrontFigures, FrontMessage, LogMessage, PipelineMessage } from './messages.ts';
import { carried, Outbox } from './outbox.ts';
import { RemotePipeline } from './remote-pipeline.ts';
import type { TlsTexts } from './tls-options.ts';

export interface FrontSetup {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsTexts;
  readonly limits: HttpsLimits;
}

/** The thread that speaks TLS and HTTP, so that the thread that answers does nothing else. */
function main(): void {
  invariant(parentPort !== null, 'this module runs as a thread');
  const port: MessagePort = parentPort;
  const outbox = new Outbox<FrontMessage>((batch, moved) => port.postMessage(batch, moved));
  const log = logTo(outbox);
  const pipeline = new RemotePipeline(outbox, log);
  const listener = createHttpsListener({
    // From the starter of this thread.
    ...(threadData() as FrontSetup),
    clock: createSystemClock(),
    ids: createIds(createSystemRandom()),
    log,
    ask: (asked, asker) => pipeline.ask(asked, asker),
  });
  port.on('message', ({ messages, bytes }: Batch<PipelineMessage>) => {
    for (const message of messages) {
      if ('id' in message) pipeline.receive(message, carried(message, bytes));
      else void obey(message, { listener, outbox, port, log });
    }
    pipeline.received();
  });
}

interface Front {
  readonly listener: HttpsListener;
  readonly outbox: Outbox<FrontMessage>;
  readonly port: MessagePort;
  readonly log: Log;
}

/** A listener that refuses it goes on with the one before. */
function renew(listener: HttpsListener, pair: TlsPair, log: Log): void {
  try {
    listener.renew(pair);
  } catch (error) {
    log.error('the server refuses the renewed certificate, and the one before stays', { error });
  }
}

async function obey(wish: ControlWish, { listener, outbox, port, log }: Front): Promise<void> {
  switch (wish.kind) {
    case 'listen':
      return outbox.push(await listen(listener));
    case 'measure':
      return outbox.push({ kind: 'figures', ...measure() });
    case 'renew':
      return renew(listener, wish.pair, log);
    case 'stop':
      await listener.close();
      outbox.push({ kind: 'stopped' });
      outbox.flush();
      port.close();
  }
}

async function listen(listener: HttpsListener): Promise<FrontMessage> {
  try {
    return { kind: 'listening', ...(await listener.listen()) };
  } catch (error) {
    return { kind: 'not-listening', why: describeError(error) };
  }
}

function measure(): FrontFigures {
  // Present only when the process was started with it: garbage does not count as held.
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  const connections = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  return { bytes: heapUsed + external, connections };
}

function logTo(outbox: Outbox<FrontMessage>): Log {
  const at =
    (level: LogMessage['level'], own: Readonly<Record<string, unknown>>) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void =>
      outbox.push({ kind: 'log', level, message, fields: { ...own, ...fields } });
  const logWith = (own: Readonly<Record<string, unknown>>): Log => ({
    debug: at('debug', own),
    info: at('info', own),
    warn: at('warn', own),
    error: at('error', own),
    child: (fields) => logWith({ ...own, ...fields }),
  });
  return logWith({});
}

main();
