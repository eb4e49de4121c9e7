import type { DaemonSet } from '@holdfast/api/facts';
import type { Finding } from './finding.ts';
import type { Reader } from './reader.ts';
import {
  blockerOf,
  explainBlocker,
  explainRefusal,
  isUnsettled,
  ownedPods,
  refusalEvent,
  unseenChange,
  type WorkloadFacts,
} from './workload.ts';

export interface DaemonSetFacts extends WorkloadFacts {
  readonly set: DaemonSet;
}

export async function observeDaemonSet(set: DaemonSet, reader: Reader): Promise<DaemonSetFacts> {
  const [pods, events] = await Promise.all([ownedPods(set, reader), reader.events(set)]);
  return { set, pods, events, blocker: await blockerOf(pods.find(isUnsettled), reader) };
}

export function explainDaemonSet({ set, pods, blocker, events }: DaemonSetFacts, now: number): Finding {
  const { desiredNumberScheduled: wanted, updatedNumberScheduled: updated = 0, numberAvailable = 0 } = set.status;
  const unseen = unseenChange(set, set.status.observedGeneration);
  if (unseen !== undefined) return unseen;
  if (updated >= wanted && numberAvailable >= wanted)
    return { rests: `its pods on ${wanted} nodes are up to date and available` };
  const held = explainBlocker(blocker, 'its pod', now);
  if (held !== undefined) return held;
  const refused = pods.length < wanted ? explainRefusal(refusalEvent(events)) : undefined;
  if (refused !== undefined) return refused;
  const what = `${updated} of ${wanted} nodes have a pod of the new template, ${numberAvailable} pods are available`;
  if (updated < wanted && set.spec.updateStrategy?.type === 'OnDelete') {
    const endsWhen = 'somebody deletes the pods that have the old template';
    return { waitsFor: `${what}, and its update strategy is OnDelete`, endsWhen };
  }
  return { waitsFor: what, endsWhen: 'the new pods are available and the controller has replaced the old ones' };
}
