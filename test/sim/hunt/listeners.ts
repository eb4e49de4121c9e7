import type { Step } from './plan.ts';

/** Kinds of objects on which the decisions of a process rest. What stands here more often is drawn more often. */
const OF_MANAGER = [
  'pods',
  'pods',
  'pods',
  'configmaps',
  'configmaps',
  'configmaps',
  'replicasets',
  'statefulsets',
  'jobs',
  'persistentvolumes',
  'nodes',
] as const;
const OF_SCHEDULER = ['pods', 'pods', 'nodes', 'persistentvolumes'] as const;
/** Kubelets and controllers of users. */
const OF_OTHERS = ['pods'] as const;

/** The kind of objects of which the target of the step hears badly; the time of the step determines which. */
export function heardKind({ target, at }: Step): string {
  const heard = followedBy(target);
  return heard[Math.round(at * 1000) % heard.length] ?? 'pods';
}

function followedBy(process: string): readonly string[] {
  if (process.startsWith('controller-manager')) return OF_MANAGER;
  return process.startsWith('scheduler') ? OF_SCHEDULER : OF_OTHERS;
}
