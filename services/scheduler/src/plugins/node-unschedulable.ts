import { tolerates, UNSCHEDULABLE_TAINT } from '@holdfast/api';
import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import { define } from '../framework/definition.ts';
import { checking, rejectedForGood, SKIP } from '../framework/plugin.ts';

const CORDONED = { key: UNSCHEDULABLE_TAINT, effect: 'NoSchedule' };
const UNSCHEDULABLE = rejectedForGood('node(s) were unschedulable');

/** Keeps pods off cordoned nodes. */
export const NODE_UNSCHEDULABLE = define('NodeUnschedulable', ['filter'], () => ({
  localFilter: true,
  preFilter: ({ pod }) => {
    if (mayUseCordoned(pod)) return SKIP;
    return checking((node) => (isCordoned(node) ? UNSCHEDULABLE : undefined));
  },
  wakesOn: {
    'node-added': (_, node) => !isCordoned(node),
    'node-taints': (_, node) => !isCordoned(node),
  },
}));

const isCordoned = ({ node }: NodeInfo): boolean => node.spec.unschedulable === true;

function mayUseCordoned({ tolerations }: PodInfo): boolean {
  return tolerations.some((toleration) => tolerates(toleration, CORDONED));
}
