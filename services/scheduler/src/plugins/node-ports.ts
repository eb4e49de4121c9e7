import type { HostPort } from '../domain/pod-info.ts';
import { type Plugin, rejected } from '../framework/plugin.ts';

const ANY_ADDRESS = '0.0.0.0';

/** A port of the node's own address serves one pod. */
export const createNodePorts = (): Plugin => ({
  name: 'NodePorts',
  filter: ({ pod }) => {
    if (pod.hostPorts.length === 0) return undefined;
    return ({ hostPorts }) =>
      pod.hostPorts.some((wanted) => hostPorts.some((taken) => collide(wanted, taken)))
        ? rejected("node(s) didn't have free ports for the requested pod ports")
        : undefined;
  },
  retryAfter: ['node-added', 'pod-removed'],
});

function collide(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === ANY_ADDRESS || b.ip === ANY_ADDRESS;
}
