import { define } from '../framework/definition.ts';

/** Orders by priority, then by arrival. */
export const PRIORITY_SORT = define('PrioritySort', ['queueSort'], () => ({
  queueSort: (a, b) => b.pod.priority - a.pod.priority || a.order - b.order,
}));
