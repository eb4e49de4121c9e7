import { define } from '../framework/definition.ts';

/** More important pods first, then who came first. */
export const PRIORITY_SORT = define('PrioritySort', ['queueSort'], () => ({
  queueSort: (a, b) => b.pod.priority - a.pod.priority || a.order - b.order,
}));
