import { Agent } from 'node:https';
import { CORPUS } from '../corpus.ts';
import { type ReadyRequest, readyRequest, send, type Target } from './send.ts';

/** Sends requests of the corpus, in a process of its own. Speaks with its parent over IPC. */
export type Order = { readonly kind: 'make'; readonly name: string } | { readonly kind: 'send' };
export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answered'; readonly statuses: readonly number[] }
  | { readonly kind: 'failed'; readonly why: string };

let toSend: (() => Promise<readonly number[]>) | undefined;
const report = (sent: Report): void => void process.send?.(sent);
const target = await new Promise<Target>((resolve) => process.once('message', (message: Target) => resolve(message)));
process.on('message', (order: Order) => void obey(order).then(report, (error) => report(failure(error))));
process.on('disconnect', () => process.exit(0));
report({ kind: 'ready' });

async function obey(order: Order): Promise<Report> {
  if (order.kind === 'make') {
    toSend = made(order.name);
    return { kind: 'ready' };
  }
  if (toSend === undefined) throw new Error('no request was made');
  return { kind: 'answered', statuses: await toSend() };
}

const failure = (error: unknown): Report => ({ kind: 'failed', why: String(error) });

function made(name: string): () => Promise<readonly number[]> {
  const hostile = CORPUS.find((each) => each.name === name);
  if (hostile === undefined) throw new Error(`the corpus has no request ${JSON.stringify(name)}`);
  const { atOnce = 1, sender: token, staysOpen } = hostile;
  const ready: ReadyRequest = readyRequest(hostile);
  return async () => {
    const agent = new Agent({ keepAlive: true });
    try {
      return await Promise.all(Array.from({ length: atOnce }, () => send(target, ready, { token, agent, staysOpen })));
    } finally {
      agent.destroy();
    }
  };
}
