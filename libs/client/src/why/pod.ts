import { isNodeReady, isPodFinished, isPodReady, isTerminating, nodeCondition, type Pod } from '@holdfast/api/facts';
import { parseTime } from '@holdfast/platform/time';
import { type Finding, lengthOf, namesOf, quoted, sinceText } from './finding.ts';
import { endText, explainContainers } from './pod-containers.ts';
import type { PodFacts } from './pod-facts.ts';
import { explainTerminating } from './pod-terminating.ts';
import { explainUnscheduled } from './pod-unscheduled.ts';

export function explainPod(facts: PodFacts, now: number): Finding {
  const { pod } = facts;
  if (isTerminating(pod)) return explainTerminating(facts, now);
  if (isPodFinished(pod)) return { rests: `it has ended${finalText(pod)}` };
  if ((pod.spec.nodeName ?? '') === '') return explainUnscheduled(facts);
  const lost = explainLostNode(facts);
  if (lost !== undefined) return lost;
  return isPodReady(pod) ? { rests: readyText(facts, now) } : explainContainers(facts, now);
}

function finalText({ status }: Pod): string {
  const why = [status.reason, quoted(status.message)].filter((text) => text !== undefined && text !== '').join(': ');
  return ` in phase ${status.phase}${why === '' ? '' : ` (${why})`}`;
}

function readyText({ pod, budgets }: PodFacts, now: number): string {
  const forbidding = budgets
    .filter(({ status }) => status.disruptionsAllowed <= 0)
    .map(({ metadata }) => metadata.name ?? '');
  const eviction =
    forbidding.length === 0
      ? ''
      : `; an eviction is refused at the moment by the disruption budget ${namesOf(forbidding)}`;
  return `it runs on node ${pod.spec.nodeName} and is ready${restartedText(pod, now)}${eviction}`;
}

/** Kubelets forget a crash after a container ran for so long. */
const RECENT_MS = 10 * 60_000;

/** Between two crashes a pod is ready, too. */
function restartedText({ status }: Pod, now: number): string {
  const restarted = (status.containerStatuses ?? []).find(({ lastState }) => {
    const ended = parseTime(lastState.terminated?.finishedAt ?? '');
    return ended !== undefined && now - ended < RECENT_MS;
  });
  const end = restarted?.lastState.terminated;
  if (restarted === undefined || end === undefined) return '';
  const ago = lengthOf(now - (parseTime(end.finishedAt ?? '') ?? now));
  const count = restarted.restartCount === 1 ? '1 restart' : `${restarted.restartCount} restarts`;
  return `, but container ${restarted.name} ended ${ago} ago ${endText(end)} (${count})`;
}

/** Nothing happens to a pod of a node that nobody hears. */
function explainLostNode({ pod, node }: PodFacts): Finding | undefined {
  const name = pod.spec.nodeName ?? '';
  if (node === 'unread') return undefined;
  if (node === 'absent') {
    const endsWhen = 'the pod garbage collector removes the pod, or a node of this name joins';
    return { waitsFor: `its node ${name} does not exist`, endsWhen };
  }
  const ready = nodeCondition(node, 'Ready');
  if (isNodeReady(node) || ready?.status !== 'Unknown') return undefined;
  return {
    waitsFor: `node ${name} is cut off${sinceText(ready.lastTransitionTime)}; the pod may still run there`,
    endsWhen: `node ${name} reaches the API again, or the pod is evicted because it does not tolerate the loss of its node any longer`,
    since: ready.lastTransitionTime ?? undefined,
  };
}
