import {
  compileRequiredNodes,
  firstUntolerated,
  isExtendedResource,
  type Pod,
  podRequests,
  type SelectableNode,
  type Taint,
} from '@holdfast/api';
import { milliValue, ownValue, parseQuantity, value } from '@holdfast/machinery';
import type { PodFailure } from './pod-worker-types.ts';

/** The resources of a pod on its node. */
export interface PodShare {
  /** In whole units; `cpu` in thousandths. */
  readonly amounts: Readonly<Record<string, number>>;
  /** `TCP/0.0.0.0/8080` */
  readonly hostPorts: readonly string[];
}

export interface AdmittingNode extends SelectableNode {
  readonly taints: readonly Taint[];
  readonly allocatable: Readonly<Record<string, string>>;
}

export function shareOf(pod: Pod): PodShare {
  const requests = Object.entries(podRequests(pod)).map(([name, text]) => [name, amountOf(name, text)] as const);
  const ports = pod.spec.containers.flatMap(({ ports: own = [] }) => own);
  const hostPorts = ports.flatMap(({ hostPort = 0, hostIP = '', protocol = 'TCP' }) =>
    hostPort === 0 ? [] : [`${protocol}/${hostIP === '' ? ANY_ADDRESS : hostIP}/${hostPort}`],
  );
  return { amounts: Object.fromEntries(requests), hostPorts };
}

const ANY_ADDRESS = '0.0.0.0';
const OUT_OF = 'OutOf';

/**
 * Decides whether this node accepts a bound pod: the scheduler may have used an older state, or was bypassed. Returns
 * the first reason against it, in the order and words that clients know.
 */
export function admitPod(pod: Pod, node: AdmittingNode, others: Iterable<PodShare>): PodFailure | undefined {
  const share = shareOf(pod);
  const taken = [...others];
  return (
    missingResource(share, node, taken) ??
    (selects(pod, node) ? undefined : failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector")) ??
    (portsAreFree(share, taken)
      ? undefined
      : failed('NodePorts', "node(s) didn't have free ports for the requested pod ports")) ??
    (toleratesNode(pod, node)
      ? undefined
      : failed('TaintToleration', "node(s) had taints that the pod didn't tolerate"))
  );
}

/** These depend on what others may change at any time: before a refusal the node has to be read again. */
export const dependsOnNodeObject = ({ reason }: PodFailure): boolean =>
  reason === 'NodeAffinity' ||
  reason === 'TaintToleration' ||
  (reason.startsWith(OUT_OF) && isExtendedResource(reason.slice(OUT_OF.length)));

function rejection(reason: string, text: string): PodFailure {
  return { reason, message: `Pod was rejected: ${text}`, event: { type: 'Warning', message: text } };
}

const failed = (predicate: string, why: string): PodFailure =>
  rejection(predicate, `Predicate ${predicate} failed: ${why}`);

function missingResource(
  { amounts }: PodShare,
  { allocatable }: AdmittingNode,
  others: readonly PodShare[],
): PodFailure | undefined {
  const pods = amountOf('pods', allocatable['pods'] ?? '0');
  if (others.length + 1 > pods) return outOf('pods', { requested: 1, used: others.length, capacity: pods });
  for (const [name, requested] of Object.entries(amounts)) {
    const text = ownValue(allocatable, name);
    // The node does not refuse resources that it does not count (those of plugins).
    if (requested === 0 || text === undefined) continue;
    const used = others.reduce((sum, other) => sum + (ownValue(other.amounts, name) ?? 0), 0);
    const capacity = amountOf(name, text);
    if (used + requested > capacity) return outOf(name, { requested, used, capacity });
  }
  return undefined;
}

function outOf(name: string, of: { requested: number; used: number; capacity: number }): PodFailure {
  const { requested, used, capacity } = of;
  const text = `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return rejection(`${OUT_OF}${name}`, text);
}

const amountOf = (name: string, text: string): number =>
  name === 'cpu' ? Number(milliValue(parseQuantity(text))) : Number(value(parseQuantity(text)));

function portsAreFree({ hostPorts }: PodShare, others: readonly PodShare[]): boolean {
  return hostPorts.every((port) => !others.some((other) => other.hostPorts.some((taken) => clash(port, taken))));
}

function clash(a: string, b: string): boolean {
  const [protocol, address, port] = a.split('/');
  const [otherProtocol, otherAddress, otherPort] = b.split('/');
  const sameAddress = address === otherAddress || address === ANY_ADDRESS || otherAddress === ANY_ADDRESS;
  return protocol === otherProtocol && port === otherPort && sameAddress;
}

/** The kubelet checks only `NoExecute`: the scheduler handles the other effects. */
function toleratesNode({ spec }: Pod, { taints }: AdmittingNode): boolean {
  return firstUntolerated(taints, spec.tolerations ?? [], ['NoExecute']) === undefined;
}

function selects({ spec }: Pod, node: AdmittingNode): boolean {
  return compileRequiredNodes({ spec })?.(node) !== false;
}
