import { type ContainerStatus, isPodFinished, PODS, type Pod } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { isTerminating, targetOf } from '../common/meta.ts';
import { targetNode } from '../controllers/daemonset/placement.ts';
import type { World } from './harness.ts';

/** Binds, runs and readies every pod immediately and completes deletions, as fault-free nodes would. */
export function runKubelets(world: World, options: { readonly complete?: boolean } = {}): void {
  for (const pod of world.api.list(PODS)) {
    if (isTerminating(pod)) {
      if (options.complete !== false) confirmEnd(world, pod);
    } else if (pod.status.phase !== 'Running' && !isPodFinished(pod)) makeReady(world, pod);
  }
}

/** The object goes with its last finalizer. */
function confirmEnd(world: World, pod: Pod): void {
  if ((pod.metadata.finalizers ?? []).length === 0) world.api.drop(PODS, targetOf(pod));
  else if (!isPodFinished(pod)) endPod(world, pod, 143);
}

/** All containers end with this code, now. */
export function endPod(world: World, pod: Pod, exitCode: number): void {
  const finishedAt = formatTime(world.clock.now());
  const terminated = { exitCode, finishedAt, startedAt: finishedAt, reason: exitCode === 0 ? 'Completed' : 'Error' };
  const containerStatuses = pod.spec.containers.map(
    ({ name, image = '' }): ContainerStatus => ({
      name,
      image,
      imageID: '',
      ready: false,
      restartCount: 0,
      lastState: {},
      state: { terminated },
    }),
  );
  world.api.put(PODS, {
    ...pod,
    spec: { ...pod.spec, nodeName: pod.spec.nodeName ?? 'node-a' },
    status: { phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses },
  });
}

export function makeReady(world: World, pod: Pod): void {
  world.api.put(PODS, {
    ...pod,
    spec: { ...pod.spec, nodeName: pod.spec.nodeName ?? targetNode(pod) ?? 'node-a' },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: formatTime(world.clock.now()) }],
    },
  });
}
