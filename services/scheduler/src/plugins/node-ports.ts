import type { NodeInfo } from '../domain/node-info.ts';
import type { HostPort, PodInfo } from '../domain/pod-info.ts';
import { define } from '../framework/definition.ts';
import { checking, rejected, SKIP } from '../framework/plugin.ts';

const ANY_ADDRESS = '0.0.0.0';
const TAKEN = rejected("node(s) didn't have free ports for the requested pod ports");

/** Each host port of a node serves one pod. */
export const NODE_PORTS = define('NodePorts', ['preFilter', 'filter'], () => ({
  localFilter: true,
  preFilter: ({ pod }) => {
    if (pod.hostPorts.length === 0) return SKIP;
    return checking((node) => (isTaken(pod, node) ? TAKEN : undefined));
  },
  wakesOn: {
    'node-added': true,
    'pod-removed': (pod, gone) => collides(pod, gone.hostPorts),
  },
}));

const isTaken = (pod: PodInfo, { hostPorts }: NodeInfo): boolean => collides(pod, hostPorts);

function collides(pod: PodInfo, taken: readonly HostPort[]): boolean {
  return taken.length > 0 && pod.hostPorts.some((wanted) => taken.some((other) => collide(wanted, other)));
}

function collide(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === ANY_ADDRESS || b.ip === ANY_ADDRESS;
}
