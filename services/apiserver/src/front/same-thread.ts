import { createIds, createSystemClock, createSystemRandom, describeError, type Service } from '@holdfast/platform';
import { AnswersUnderWay } from '../turns/answers-under-way.ts';
import { Answering } from './answering.ts';
import { createHttpsListener } from './https-listener.ts';
import { type HttpsServer, type HttpsServerDeps, notListening, STANDARD_LIMITS } from './index.ts';
import type { FrontMessage, PipelineMessage } from './messages.ts';
import { carried, Outbox } from './outbox.ts';
import { RemotePipeline } from './remote-pipeline.ts';

export interface SameThreadHttpsServer extends Service {
  /** The listen address, once started. */
  readonly address: () => { readonly host: string; readonly port: number };
  /** As `HttpsServer.renew`. */
  readonly renew: HttpsServer['renew'];
}

/**
 * The HTTPS server of `createHttpsServer` in this thread: a cluster for tests costs no thread, and many of them share
 * one. Under load it shares its core with the pipeline.
 */
export function createSameThreadHttpsServer(deps: HttpsServerDeps): SameThreadHttpsServer {
  const { handle, log, host, port, tls, limits, answers = new AnswersUnderWay() } = deps;
  // Connections are never simulated.
  const clock = createSystemClock();
  const toPipeline = new Outbox<FrontMessage>(({ messages, bytes }) => {
    for (const message of messages) answering.receive(message, carried(message, bytes));
  });
  const toFront = new Outbox<PipelineMessage>(({ messages, bytes }) => {
    for (const message of messages) pipeline.receive(message, carried(message, bytes));
    pipeline.received();
  });
  const answering: Answering = new Answering({ handle, outbox: toFront, log, clock, answers });
  const pipeline: RemotePipeline = new RemotePipeline(toPipeline, log);
  const listener = createHttpsListener({
    ask: (asked, asker) => pipeline.ask(asked, asker),
    host,
    port,
    tls,
    limits: { ...STANDARD_LIMITS, ...limits },
    clock,
    ids: createIds(createSystemRandom()),
    log,
  });
  let address: { readonly host: string; readonly port: number } | undefined;
  return {
    name: 'apiserver-https',
    start: async () => {
      address = await listener.listen().catch((error: unknown) => {
        throw notListening({ host, port, why: describeError(error) });
      });
    },
    stop: async () => {
      if (address === undefined) return;
      answering.stop();
      await listener.close();
      answering.abandon();
    },
    renew: (pair) => listener.renew(pair),
    address: () => {
      if (address === undefined) throw new Error('the address of a server is known only after its start');
      return address;
    },
  };
}
