import {
  isNodeReady,
  LEASES,
  type Lease,
  NODE_LEASES_NAMESPACE,
  type Node,
  type NodePromise,
  nodeCondition,
  OUT_OF_SERVICE_TAINT,
  promiseOf,
} from '@holdfast/api/facts';
import { parseTime } from '@holdfast/platform/time';
import { type Finding, lengthOf, quoted, sinceText } from './finding.ts';
import { type Known, known, type Reader } from './reader.ts';

export interface NodeFacts {
  readonly node: Node;
  readonly lease: Known<Lease>;
}

export const observeNode = async (node: Node, reader: Reader): Promise<NodeFacts> => ({
  node,
  lease: await observeLease(node.metadata.name ?? '', reader),
});

export const observeLease = (node: string, reader: Reader): Promise<Known<Lease>> =>
  reader.find(LEASES, { namespace: NODE_LEASES_NAMESPACE, name: node });

export function explainNode({ node, lease }: NodeFacts, now: number): Finding {
  if (isNodeReady(node)) return { rests: node.spec.unschedulable === true ? CORDONED : 'it is ready' };
  const ready = nodeCondition(node, 'Ready');
  const since = ready?.lastTransitionTime ?? undefined;
  if (ready?.status === 'False') {
    const waitsFor = `its kubelet reports that it is not ready: ${quoted(ready.message)}`;
    return { waitsFor, endsWhen: 'its kubelet reports that it is ready', since };
  }
  const waitsFor = `${lossOf(lease)}; ${promiseText(lease, now)}`;
  const endsWhen = `its kubelet reaches the API again, or somebody who knows that the machine is off deletes the Node or sets the taint ${OUT_OF_SERVICE_TAINT}`;
  return { waitsFor, endsWhen, since };
}

const CORDONED = 'it is ready, but cordoned: no new pod is scheduled to it before somebody uncordons it';

function lossOf(lease: Known<Lease>): string {
  const renewed = known(lease)?.spec?.renewTime;
  return renewed === undefined
    ? 'its kubelet has sent no heartbeat'
    : `its kubelet has sent no heartbeat${sinceText(renewed)}`;
}

/** What the node promises about its pods while nobody hears it. */
function promiseText(lease: Known<Lease>, now: number): string {
  if (lease === 'unread') return 'its processes may still run';
  const promise = promiseOf(known(lease));
  if (promise === undefined) return 'it has made no promise to end its pods, so they may still run';
  if (promise.isBroken) return `its promise has taken effect: its watchdog has ended ${coveredBy(promise)}`;
  const left = promiseLeftMs(known(lease), now);
  return left > 0
    ? `its watchdog ends ${coveredBy(promise)} in ${lengthOf(left)} unless the API hears it before`
    : `the deadline of its watchdog for ${coveredBy(promise)} is over, and the control plane waits a few seconds more before it releases them`;
}

export const coveredBy = ({ policy }: NodePromise): string =>
  policy === 'all' ? 'all its pods' : 'its exclusive pods';

/** Until the deadline of the watchdog after the last heartbeat. The control plane waits a little longer. */
export function promiseLeftMs(lease: Lease | undefined, now: number): number {
  const renewed = parseTime(lease?.spec?.renewTime ?? '');
  const promise = promiseOf(lease);
  return renewed === undefined || promise === undefined ? 0 : renewed + promise.durationMs - now;
}
