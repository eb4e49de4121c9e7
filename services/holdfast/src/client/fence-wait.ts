import { NODES, type Node } from '@holdfast/api';
import { OperatorError } from '@holdfast/platform';
import type { Terminal } from './command.ts';
import type { FenceProgress } from './fencing.ts';
import type { Session } from './session.ts';

const POLL_MS = 250;

export interface FenceWish {
  readonly name: string;
  /** A merge patch of the node. */
  readonly patch: object;
  readonly progress: (node: Node) => FenceProgress;
  readonly waitMs: number;
  readonly json: boolean;
}

/** Asks the fencer, and tells what it does until it is done. */
export async function askFencer(wish: FenceWish, { client }: Session, { clock, print }: Terminal): Promise<void> {
  const { name, patch, progress, waitMs, json } = wish;
  await client.patch(NODES, { name }, { type: 'merge', body: patch });
  const until = clock.monotonic() + waitMs;
  for (let told = ''; ; ) {
    const { isDone, text } = progress(await client.get(NODES, { name }));
    if (text !== told) print(json ? JSON.stringify({ node: name, done: isDone, text }) : `node "${name}": ${text}`);
    told = text;
    if (isDone) return;
    if (clock.monotonic() > until) throw notYet(name, text);
    await clock.sleep(POLL_MS);
  }
}

const notYet = (name: string, text: string): OperatorError =>
  new OperatorError({
    code: 'FencerPending',
    message: `node "${name}" is not there yet: ${text}`,
    nextStep: `The request stays. Check that a fencer runs and has an agent for this node (docs/fencing.md); \`kubectl describe node ${name}\` shows its steps.`,
  });
