import assert from 'node:assert/strict';
import { COMPLETION_INDEX_ANNOTATION, isPodFinished, JOBS, type Job, PODS, type Pod } from '@holdfast/api';
import { nameOf } from '../../common/meta.ts';
import { isActive } from '../../common/pods.ts';
import { job } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { endPod, runKubelets } from '../../testing/kubelet-model.ts';
import { jobController } from './index.ts';

export const TASK = { namespace: 'default', name: 'task' };

export interface JobWorld {
  readonly world: World;
  readonly controller: DrivenController;
}

export const worldWith = (spec: Partial<Job['spec']> = {}): Promise<JobWorld> => worldOf(job(spec));

export async function worldOf(object: Job): Promise<JobWorld> {
  const world = createWorld();
  await world.api.client('user').create(JOBS, object);
  return { world, controller: new DrivenController(world, jobController) };
}

/** A Job whose pods find out themselves when there is nothing left to do. */
export function workQueue(parallelism: number): Job {
  const { spec, ...rest } = job({ parallelism });
  const { completions: _none, ...queue } = spec;
  return { ...rest, spec: queue };
}

export const indexed = (completions: number, spec: Partial<Job['spec']> = {}): Partial<Job['spec']> => ({
  completionMode: 'Indexed',
  completions,
  parallelism: completions,
  ...spec,
});

export const theJob = (world: World): Job => world.api.get(JOBS, TASK);

export function editJob(world: World, spec: Partial<Job['spec']>): void {
  const old = theJob(world);
  const metadata = { ...old.metadata, generation: (old.metadata.generation ?? 1) + 1 };
  world.api.put(JOBS, { ...old, metadata, spec: { ...old.spec, ...spec } });
}

export const activePods = (world: World): readonly Pod[] => world.api.list(PODS).filter(isActive);

export const indexText = (pod: Pod): string => pod.metadata.annotations?.[COMPLETION_INDEX_ANNOTATION] ?? '';

export const podOfIndex = (world: World, index: number): Pod => {
  const found = activePods(world).find((pod) => indexText(pod) === String(index));
  assert.ok(found, `a pod works on index ${index}`);
  return found;
};

/** Every pod that runs ends with the code that `codeOf` names; undefined lets it run. */
export function endPods(world: World, codeOf: (pod: Pod) => number | undefined): void {
  for (const pod of [...activePods(world)].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
    const code = codeOf(pod);
    if (code !== undefined && !isPodFinished(pod)) endPod(world, pod, code);
  }
}

/** The controller, the kubelets and the pods take turns until the Job has ended. */
export async function work(
  { world, controller }: JobWorld,
  codeOf: (pod: Pod) => number | undefined = () => 0,
  check: () => void = () => {},
): Promise<void> {
  for (let round = 0; round < 60; round++) {
    await controller.settle();
    check();
    if (isOver(world)) return;
    runKubelets(world);
    await controller.settle();
    check();
    endPods(world, codeOf);
    world.clock.skip(20_000);
  }
}

export const isOver = (world: World): boolean => ended(theJob(world)) !== '';

export const ended = ({ status }: Job): string =>
  (status.conditions ?? [])
    .filter(({ type, status: value }) => value === 'True' && (type === 'Complete' || type === 'Failed'))
    .map(({ type, reason }) => `${type} ${reason}`)
    .join();

export const conditionsOf = (world: World): readonly string[] =>
  (theJob(world).status.conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);

export const eventsOf = (world: World): readonly string[] => world.api.events.map(({ reason }) => reason);
