import assert from 'node:assert/strict';
import { type Event, isTerminating, type KubeObject, NODES, PODS, type Pod } from '@holdfast/api';
import { createApiClient, createDirectTransport, TransportError } from '@holdfast/client';
import { FakeApi, pathFor } from '@holdfast/client/testing';
import { createIds, createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createVirtualClock, type VirtualClock } from '@holdfast/platform/testing';
import { createScheduler, type Scheduler } from '../app.ts';
import type { SchedulerDeps } from '../scheduler-deps.ts';
import { buildNode, buildPod, type NodeShape, type PodShape } from './builders.ts';

export interface Rig {
  readonly clock: VirtualClock;
  readonly api: FakeApi;
  readonly schedulers: readonly Scheduler[];
  readonly addNode: (name: string, shape?: NodeShape) => void;
  readonly addPod: (name: string, shape?: PodShape) => void;
  readonly pod: (name: string) => Pod | undefined;
  readonly events: (reason: string) => readonly Event[];
  readonly stop: () => Promise<void>;
}

export const podPath = (name: string): string => pathFor(PODS, 'default', name);
export const asPod = (object: KubeObject | undefined): Pod | undefined => object as Pod | undefined;

/** Schedulers on a fake API with faults, on virtual time. */
export async function rig(schedulers = 1, extra: Partial<SchedulerDeps> = {}): Promise<Rig> {
  const clock = createVirtualClock();
  const api = new FakeApi(clock);
  const running = Array.from({ length: schedulers }, (_, i) => {
    const random = createSeededRandom(i, 'scheduler');
    const client = createApiClient({ transport: createDirectTransport(api.handler), userAgent: `scheduler-${i}` });
    const ids = createIds(random);
    return createScheduler({ client, clock, random, ids, log: createSilentLog(), host: 'host-1', ...extra });
  });
  for (const each of running) await each.start();
  await clock.advance(10);
  return {
    clock,
    api,
    schedulers: running,
    addNode: (name, shape) => void api.put(pathFor(NODES, '', name), buildNode(name, shape)),
    addPod: (name, shape) => void api.put(podPath(name), buildPod(name, shape)),
    pod: (name) => asPod(api.objects().get(podPath(name))),
    events: (reason) =>
      [...api.objects().values()].flatMap((object) => {
        const event = object as Event;
        return object.kind === 'Event' && event.reason === reason ? [event] : [];
      }),
    stop: async () => {
      const stopped = Promise.all(running.map((each) => each.stop()));
      await clock.advance(5_000);
      await stopped;
    },
  };
}

export const nodeOf = (pod: Pod | undefined): string | undefined => pod?.spec.nodeName;

/** Victims terminate slowly: a delete request marks them, and they exist until the test removes them. */
export function slowDeletions({ api, pod }: Pick<Rig, 'api' | 'pod'>): void {
  api.before = ({ method, path }) => {
    if (method !== 'DELETE') return;
    const victim = pod(path.slice(path.lastIndexOf('/') + 1));
    if (victim !== undefined && !isTerminating(victim)) {
      api.put(path, { ...victim, metadata: { ...victim.metadata, deletionTimestamp: '2026-01-01T00:00:10Z' } });
    }
    throw new TransportError('asked, and not yet gone');
  };
}

/** The pod `p` is nominated for the only node, `n1`, whose pod `low` is terminating for it. */
export async function nominatedRig(): Promise<Rig> {
  const running = await rig();
  const { clock, addNode, addPod, pod } = running;
  addNode('n1', { cpu: '2' });
  addPod('low', { cpu: '2' });
  await clock.advance(1_000);
  slowDeletions(running);
  addPod('p', { cpu: '2', spec: { priority: 100 } });
  await clock.advance(2_000);
  assert.equal(pod('p')?.status.nominatedNodeName, 'n1');
  return running;
}
