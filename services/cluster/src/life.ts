import type { ApiHandler } from '@holdfast/client';
import type { Change, Store } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { createControlPlane } from './control-plane.ts';
import { withFirstLists } from './first-lists.ts';
import { handoverOf } from './handover.ts';
import { HollowNodes } from './hollow-nodes.ts';
import { createMachines, type Machine } from './machines.ts';
import type { ClusterConfig } from './options.ts';
import { createProcessNodes, type ProcessNodesDeps } from './process-nodes/index.ts';
import type { Requests } from './requests.ts';
import type { ClusterKeys, ClusterState, StoreContent } from './state.ts';
import { ClusterTime } from './time.ts';
import type { ClusterUsers } from './users.ts';

export interface LifeDeps {
  readonly config: ClusterConfig;
  readonly keys: ClusterKeys;
  readonly users: ClusterUsers;
  readonly requests: Requests;
  /** See `ProcessNodesDeps`. */
  readonly api: ProcessNodesDeps['api'];
}

/** What ends when a cluster is reset: components, store and time. */
export interface Life {
  readonly handle: ApiHandler;
  readonly time: ClusterTime;
  readonly machineOf: (name: string) => Machine;
  readonly state: () => Promise<ClusterState>;
  /** The newest one of the store. */
  readonly revision: () => Promise<number>;
  readonly changes: (signal: AbortSignal) => Promise<AsyncIterable<readonly Change[]>>;
  readonly stop: () => Promise<void>;
}

/** Starts all components, on an empty store or on this state. */
export async function startLife(deps: LifeDeps, from: ClusterState | undefined): Promise<Life> {
  const { config, requests } = deps;
  const { isVirtual, settleMs, seed, onLog } = config;
  const time = new ClusterTime({ isVirtual, startMs: from?.nowMs, requests, settleMs });
  const generation = from?.generation ?? '';
  const machineOf = createMachines({ clock: time.clock, seed, generation, onLog });
  const store = await openStore(config, machineOf, from);
  const hollow = new HollowNodes(config, machineOf, from?.hollow ?? new Map());
  const plane = createControlPlane({
    ...deps,
    machineOf,
    store,
    hasSystemObjects: from?.isComplete === true && config.sqlite === undefined,
    around: requests.around,
    rest: () => time.settle(),
    aroundClient: (client, user) =>
      from === undefined
        ? client
        : withFirstLists({ lists: handoverOf(from).lists, revision: from.revision, store, client, user }),
    sharedStates: from === undefined ? undefined : handoverOf(from).states,
    nodesOf: (nodePlane) => [
      hollow.kubelets(nodePlane),
      createProcessNodes({ config, machineOf, plane: nodePlane, api: deps.api }),
    ],
  });
  await plane.start();
  return {
    handle: plane.handle,
    time,
    machineOf,
    revision: () => store.currentRevision(),
    changes: async (signal) => store.changes({ after: await store.currentRevision(), signal }),
    stop: () => time.end(plane.stop()),
    state: async () => {
      // Both at one time: the memory store lists at once.
      const listing = store.list('');
      const states = hollow.states();
      const { objects, revision } = await listing;
      const nowMs = time.clock.now();
      return { objects, revision, isComplete: true, hollow: states, nowMs, generation: `${generation}.${revision}` };
    },
  };
}

async function openStore(
  config: ClusterConfig,
  machineOf: (name: string) => Machine,
  from: StoreContent | undefined,
): Promise<Store> {
  const { clock, ids, log } = machineOf('store');
  if (config.sqlite !== undefined) {
    const { createSqliteStore } = await import('@holdfast/store/sqlite');
    return createSqliteStore({ clock, ids, log, directory: config.sqlite });
  }
  return createMemoryStore(from === undefined ? { ids } : { ids, adopted: from });
}
