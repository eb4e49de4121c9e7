import { isCovered, tolerates, UNSCHEDULABLE_TAINT } from '@holdfast/api';
import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import { define } from '../framework/definition.ts';
import { checking, type Rejection, rejectedForGood } from '../framework/plugin.ts';

const CORDONED = { key: UNSCHEDULABLE_TAINT, effect: 'NoSchedule' };
const UNSCHEDULABLE = rejectedForGood('node(s) were unschedulable');
const FENCED = rejectedForGood('node(s) were self-fenced');

/** Rejects cordoned nodes and nodes that would release the pod immediately. */
export const NODE_UNSCHEDULABLE = define('NodeUnschedulable', ['filter'], () => ({
  localFilter: true,
  preFilter: ({ pod }) => {
    const toleratesCordon = mayUseCordoned(pod);
    return checking((node) => rejectionOf(pod, node, toleratesCordon));
  },
  wakesOn: { 'node-added': isOpenTo, 'node-taints': isOpenTo, 'node-condition': isOpenTo },
}));

const isOpenTo = (pod: PodInfo, node: NodeInfo): boolean => rejectionOf(pod, node, mayUseCordoned(pod)) === undefined;

function rejectionOf({ pod }: PodInfo, { node, releases }: NodeInfo, toleratesCordon: boolean): Rejection | undefined {
  if (node.spec.unschedulable === true && !toleratesCordon) return UNSCHEDULABLE;
  return releases !== undefined && isCovered(releases, pod) ? FENCED : undefined;
}

function mayUseCordoned({ tolerations }: PodInfo): boolean {
  return tolerations.some((toleration) => tolerates(toleration, CORDONED));
}
