import { type Event, isFinishedPhase } from '@holdfast/api/facts';
import { quoted } from '../why/finding.ts';
import type { PodFacts } from './facts.ts';
import type { Loss } from './losses.ts';
import { podName } from './names.ts';
import { isEnded } from './states.ts';
import type { Story } from './tracks.ts';

/** What is known at the end of the film of one pod that the node had. */
export interface WaitingPod {
  readonly name: string;
  readonly pod: PodFacts | undefined;
  /** The last state that existed. */
  readonly last: PodFacts | undefined;
  /** Volumes of its claims that are attached elsewhere, with their nodes. */
  readonly held: readonly { readonly volume: string; readonly node: string }[];
  /** The newest warning about it. */
  readonly warning: Event | undefined;
}

const AT_THE_END = Number.POSITIVE_INFINITY;

/** Says why a pod is not back yet. Undefined when it is. */
export function waitOf(loss: Loss, waiting: WaitingPod): string | undefined {
  const reason = reasonOf(loss, waiting);
  return reason === undefined ? undefined : `${podName(waiting.name)} waits: ${reason}`;
}

function reasonOf(loss: Loss, waiting: WaitingPod): string | undefined {
  const { pod, last } = waiting;
  if (pod === undefined) {
    return last?.isPet === true ? 'its StatefulSet has not made it again' : undefined;
  }
  if (isFinishedPhase(pod.phase)) return undefined;
  if (pod.node === '') return `the scheduler has not found a node for it${saidText(waiting)}`;
  if (pod.node === loss.node && loss.heard === undefined) return lostReason(loss, pod);
  if (pod.isGoing) return `${pod.node} has to confirm that its processes ended`;
  if (pod.phase === 'Running') return undefined;
  const [held] = waiting.held;
  if (held !== undefined) return `its volume ${held.volume} is still attached to ${held.node}`;
  return `it starts on ${pod.node}${saidText(waiting)}`;
}

function lostReason(loss: Loss, pod: PodFacts): string {
  const { node } = loss;
  if (isEnded(loss, pod, AT_THE_END)) {
    return pod.isGoing
      ? `it is confirmed dead on ${node}, and the pod garbage collector has to remove it`
      : `it is confirmed dead on ${node}, and has to be told to go`;
  }
  if (loss.policy !== undefined && loss.broken === undefined && (loss.policy === 'all' || pod.isExclusive)) {
    return `the promise of ${node} to end it is being waited out; it may be running until then`;
  }
  if (pod.isGoing) return `${node} has not confirmed that its processes ended; it may be running`;
  if (loss.lost === undefined) return `${node} is silent, but not declared lost yet; it may be running`;
  return `${node} sends no heartbeats, and the pod tolerates that for a time; it may be running`;
}

const saidText = ({ warning }: WaitingPod): string =>
  warning === undefined ? '' : ` (${warning.reason ?? 'Warning'}: ${quoted(warning.message)})`;

/** Volumes of the pod's claims that another node than the pod's has. */
export function heldVolumes(story: Story, name: string, pod: PodFacts | undefined): WaitingPod['held'] {
  if (pod === undefined || pod.node === '') return [];
  const namespace = name.split('/', 1)[0] ?? '';
  const claims = new Set(pod.claims.map((claim) => `${namespace}/${claim}`));
  return [...story.volumes].flatMap(([volume, points]) => {
    const facts = points.at(-1)?.facts;
    const isHeld = facts !== undefined && claims.has(facts.claim) && facts.node !== '' && facts.node !== pod.node;
    return isHeld ? [{ volume, node: facts.node }] : [];
  });
}
