import { isFinishedPhase } from '@holdfast/api/facts';
import type { PodFacts, VolumeFacts } from './facts.ts';
import type { Loss, Mark } from './losses.ts';
import type { StepKind } from './model.ts';

/** What a lane shows from a moment on. */
export interface State {
  readonly kind: StepKind;
  readonly name: string;
}

const state = (kind: StepKind, name: string): State => ({ kind, name });
const isSince = (mark: Mark | undefined, revision: number): boolean => mark !== undefined && mark.revision <= revision;

export function nodeState(loss: Loss, revision: number): State {
  const has = (mark: Mark | undefined): boolean => isSince(mark, revision);
  if (revision < loss.silent.revision) return state('heard', 'sends heartbeats');
  if (has(loss.back)) return state('heard', 'is back: ready, and its old pods are confirmed dead');
  if (has(loss.heard)) return state('returned', 'returned: sends heartbeats, has to confirm what ended');
  if (has(loss.declared)) return state('fenced', 'declared dead by a person');
  if (has(loss.fenced)) return state('fenced', 'cut off by the fencer, confirmed');
  if (has(loss.broken)) return state('fenced', FENCED_BY[loss.policy ?? 'exclusive']);
  if (has(loss.fencing)) return state('fencing', 'being cut off by the fencer');
  if (has(loss.lost)) return state('lost', 'declared not ready; nobody knows what runs there');
  return loss.policy === undefined
    ? state('silent', 'lease missed: no heartbeat')
    : state('silent', 'lease missed: its promise is waited out');
}

const FENCED_BY = {
  exclusive: 'fenced by its promise: its watchdog has ended its exclusive pods',
  all: 'fenced by its promise: its watchdog has ended its pods',
} as const;

/** Whether it is certain that nothing of the pod runs on the lost node. */
export function isEnded(loss: Loss, { isExclusive }: PodFacts, revision: number): boolean {
  if (isSince(loss.fenced, revision) || isSince(loss.declared, revision)) return true;
  return isSince(loss.broken, revision) && (loss.policy === 'all' || isExclusive);
}

/** `by` wrote the change that led to this state. */
export function podState(loss: Loss, pod: PodFacts | undefined, { revision, by }: Omit<Mark, 'atMs'>): State {
  if (pod === undefined) return state('absent', goneText(by));
  if (isFinishedPhase(pod.phase)) return state('ended', `has ended (${pod.phase})`);
  if (pod.node === '') return state('waiting', 'made; waits for a node');
  const isAway = isSince(loss.silent, revision) && !isSince(loss.heard, revision);
  if (pod.node === loss.node && isAway) return lostState(loss, pod, revision);
  if (pod.isGoing) return state('leaving', `told to go; ${pod.node} ends it`);
  if (pod.phase === 'Running') return state('runs', `runs on ${pod.node}`);
  return state('starts', `bound; starts on ${pod.node}`);
}

/** Only a node confirms an end; everybody else removes the object, as a person does with force. */
function goneText(by: string | undefined): string {
  if (by === undefined) return 'gone: removed';
  const node = /^system:node:(.*)$/.exec(by)?.[1];
  return node === undefined ? `gone: removed by ${by.split(':').at(-1) ?? by}` : `gone: ${node} confirmed its end`;
}

function lostState(loss: Loss, pod: PodFacts, revision: number): State {
  const down = pod.isDown ? 'NodeDown: ' : '';
  const told = pod.isGoing ? 'told to go; ' : down;
  if (isEnded(loss, pod, revision)) return state('ended', `${told}confirmed dead on ${loss.node}`);
  if (pod.isGoing) return state('leaving', `told to go; ${loss.node} has not confirmed its end`);
  return state('unknown', `${down}may be running on ${loss.node}`);
}

export function volumeState(loss: Loss, volume: VolumeFacts | undefined): State {
  if (volume === undefined) return state('absent', 'does not exist');
  if (volume.node === '') return state('free', 'detached');
  return volume.node === loss.node
    ? state('attached', `attached to ${volume.node}`)
    : state('moved', `attached to ${volume.node}`);
}
