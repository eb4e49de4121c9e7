import { tolerates } from '../domain/tolerations.ts';
import { type Plugin, rejectedForGood } from '../framework/plugin.ts';

const CORDONED = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** Keeps pods off cordoned nodes. */
export const createNodeUnschedulable = (): Plugin => ({
  name: 'NodeUnschedulable',
  filter: ({ pod }) => {
    const allowed = pod.tolerations.some((toleration) => tolerates(toleration, CORDONED));
    if (allowed) return undefined;
    return ({ node }) => (node.spec.unschedulable === true ? rejectedForGood('node(s) were unschedulable') : undefined);
  },
  retryAfter: ['node-added', 'node-changed'],
});
