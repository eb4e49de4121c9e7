import { PODS, type Pod } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { isTerminating, targetOf } from '../common/meta.ts';
import { isFinished } from '../common/pods.ts';
import type { World } from './harness.ts';

/** Binds, runs and readies every pod at once, and completes deletions, as nodes without any fault would. */
export function runKubelets(world: World, options: { readonly complete?: boolean } = {}): void {
  for (const pod of world.api.list(PODS)) {
    if (isTerminating(pod)) {
      if (options.complete !== false) world.api.drop(PODS, targetOf(pod));
    } else if (pod.status.phase !== 'Running' && !isFinished(pod)) makeReady(world, pod);
  }
}

export function makeReady(world: World, pod: Pod): void {
  world.api.put(PODS, {
    ...pod,
    spec: { ...pod.spec, nodeName: pod.spec.nodeName ?? 'node-a' },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: formatTime(world.clock.now()) }],
    },
  });
}
