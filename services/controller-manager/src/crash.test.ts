import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CONFIG_MAPS,
  CONTROLLER_REVISIONS,
  CRON_JOBS,
  DEPLOYMENTS,
  JOBS,
  type KubeObject,
  NAMESPACES,
  NODES,
  PODS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  type ResourceRef,
  STATEFUL_SETS,
} from '@holdfast/api';
import type { ControllerDefinition } from './common/context.ts';
import { controllerOf, keyOf } from './common/meta.ts';
import { isActive } from './common/pods.ts';
import { createGracefulEviction } from './controllers/node-lifecycle/pod-eviction.ts';
import { allControllers } from './registry.ts';
import {
  cronJob,
  deployment,
  job,
  node,
  pod,
  podTemplate,
  replicationController,
  statefulSet,
} from './testing/builders.ts';
import { createWorld, DrivenController, settleAll, type World } from './testing/harness.ts';
import { endPod, runKubelets } from './testing/kubelet-model.ts';

const RESOURCES: readonly ResourceRef[] = [
  DEPLOYMENTS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  STATEFUL_SETS,
  CONTROLLER_REVISIONS,
  JOBS,
  CRON_JOBS,
  PODS,
  NAMESPACES,
  CONFIG_MAPS,
];
const ALL: readonly ControllerDefinition[] = allControllers({
  nodeMonitorGraceMs: 50_000,
  terminatedPodThreshold: 12_500,
  podEviction: createGracefulEviction,
  resources: RESOURCES,
}).filter(({ name }) => name !== 'node-lifecycle');

class Crash extends Error {}

/** A manager that dies for good at its n-th write, before or after it counts, and is started again with nothing but the API. */
class MortalManager {
  readonly world: World = createWorld();
  #controllers: readonly DrivenController[] = this.#boot();
  #writes = 0;
  #isDead = false;

  constructor(crashAt: number, counts: boolean) {
    const die = (when: boolean): void => {
      if (this.#isDead) throw new Crash('the process is gone');
      if (this.#writes !== crashAt || counts !== when) return;
      this.#isDead = true;
      throw new Crash('the process dies here');
    };
    this.world.api.beforeWrite = ({ identity }) => {
      if (identity === 'user') return;
      this.#writes++;
      die(false);
    };
    this.world.api.afterWrite = ({ identity }) => {
      if (identity !== 'user') die(true);
    };
  }

  get writes(): number {
    return this.#writes;
  }

  async turn(): Promise<void> {
    for (let boot = 0; boot < 3; boot++) {
      await settleAll(this.#controllers, () => this.#isDead);
      if (!this.#isDead) return;
      for (const controller of this.#controllers) controller.kill();
      this.#isDead = false;
      this.#controllers = this.#boot();
    }
  }

  #boot(): readonly DrivenController[] {
    return ALL.map((definition) => new DrivenController(this.world, definition));
  }
}

/** Pods of Jobs do their work; index 1 fails at its second try. */
function doWork({ world }: MortalManager): void {
  for (const each of world.api.list(PODS)) {
    const { annotations = {} } = each.metadata;
    const isSecondTry = annotations['batch.kubernetes.io/job-index-failure-count'] === '1';
    const fails = isSecondTry && annotations['batch.kubernetes.io/job-completion-index'] === '1';
    if (controllerOf(each)?.kind === 'Job' && isActive(each)) endPod(world, each, fails ? 1 : 0);
  }
}

/** Enough for the longest part of a scenario, with a restart in it. */
const ROUNDS = 9;

type Scenario = (manager: MortalManager) => Promise<void>;

async function live(manager: MortalManager): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await manager.turn();
    runKubelets(manager.world);
    manager.world.clock.advance(20_000);
  }
}

function edit<T extends KubeObject & { readonly spec: object }>(
  { world }: MortalManager,
  kind: ResourceRef<T>,
  spec: Partial<T['spec']>,
): void {
  const [old] = world.api.list(kind);
  assert.ok(old);
  const metadata = { ...old.metadata, generation: (old.metadata.generation ?? 1) + 1 };
  world.api.put(kind, { ...old, metadata, spec: { ...old.spec, ...spec } });
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'a Deployment is rolled out, scaled and deleted': async (manager) => {
    const user = manager.world.api.client('user');
    manager.world.api.put(NODES, node('node-a'));
    await user.create(DEPLOYMENTS, deployment({ replicas: 2 }));
    await live(manager);
    edit(manager, DEPLOYMENTS, { template: podTemplate({ app: 'web' }, 'web:2') });
    await live(manager);
    assert.equal(manager.world.api.list(PODS).length, 2);
    await user.delete(DEPLOYMENTS, { namespace: 'default', name: 'web' }, { propagationPolicy: 'Foreground' });
    await live(manager);
  },
  'a StatefulSet is created, updated and shrunk': async (manager) => {
    manager.world.api.put(NODES, node('node-a'));
    await manager.world.api.client('user').create(STATEFUL_SETS, statefulSet({ replicas: 2 }));
    await live(manager);
    edit(manager, STATEFUL_SETS, { template: podTemplate({ app: 'db' }, 'db:2') });
    await live(manager);
    edit(manager, STATEFUL_SETS, { replicas: 1 });
    await live(manager);
  },
  'a ReplicationController is created and shrunk': async (manager) => {
    manager.world.api.put(NODES, node('node-a'));
    await manager.world.api.client('user').create(REPLICATION_CONTROLLERS, replicationController({ replicas: 3 }));
    await live(manager);
    edit(manager, REPLICATION_CONTROLLERS, { replicas: 1 });
    await live(manager);
  },
  'an indexed Job is worked off, with a failure and a pause': async (manager) => {
    manager.world.api.put(NODES, node('node-a'));
    const spec = { completionMode: 'Indexed', completions: 3, parallelism: 2, backoffLimitPerIndex: 2 };
    await manager.world.api.client('user').create(JOBS, job({ ...spec, podReplacementPolicy: 'Failed' }));
    await manager.turn();
    edit(manager, JOBS, { suspend: true });
    await live(manager);
    edit(manager, JOBS, { suspend: false });
    for (let round = 0; round < ROUNDS; round++) {
      await live(manager);
      doWork(manager);
    }
    await live(manager);
  },
  'a CronJob starts Jobs that are worked off and forgotten': async (manager) => {
    manager.world.api.put(NODES, node('node-a'));
    const template = { metadata: {}, spec: job({ ttlSecondsAfterFinished: 300 }).spec };
    const spec = { schedule: '*/10 * * * *', concurrencyPolicy: 'Replace', jobTemplate: template };
    await manager.world.api.client('user').create(CRON_JOBS, cronJob(spec));
    for (let tenMinutes = 0; tenMinutes < 2; tenMinutes++) {
      manager.world.clock.advance(600_000);
      await live(manager);
      doWork(manager);
      await live(manager);
    }
    edit(manager, CRON_JOBS, { suspend: true });
    await live(manager);
  },
  'a namespace is emptied and a lost node’s pod released': async (manager) => {
    const { api } = manager.world;
    const user = api.client('user');
    const metadata = { name: 'team' };
    const spec = { finalizers: ['kubernetes'] };
    await user.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata, spec, status: { phase: 'Active' } });
    await user.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'team' } });
    await user.create(PODS, pod({ name: 'p', namespace: 'team' }, { phase: 'Running' }, { nodeName: 'gone' }));
    api.put(NODES, node('other'));
    await user.delete(NAMESPACES, { name: 'team' });
    for (let round = 0; round < 8; round++) {
      await manager.turn();
      manager.world.clock.advance(20_000);
    }
  },
};

/** What a Job says of its pods: whatever happened in between, every one counts once. */
function booksOf(object: KubeObject): unknown {
  if (object.kind !== 'Job' || !('status' in object)) return undefined;
  const { startTime: _start, completionTime: _end, conditions = [], ...books } = Object(object.status);
  return [books, Array.from(conditions, ({ type, status, reason }) => [type, status, reason])];
}

/** Who is there at the end, and in which state; uids and revisions differ from run to run. */
const endOf = ({ world }: MortalManager): unknown =>
  [...RESOURCES, NODES].map((kind) =>
    world.api
      .list<KubeObject>(kind)
      .map((object) => [
        keyOf(object),
        'spec' in object ? object.spec : undefined,
        object.metadata.deletionTimestamp === undefined,
        object.metadata.finalizers,
        booksOf(object),
      ]),
  );

for (const [name, scenario] of Object.entries(SCENARIOS)) {
  test(`killed before or after each of its writes, the end is the same: ${name}`, async () => {
    const calm = new MortalManager(-1, false);
    await scenario(calm);
    const expected = normalized(endOf(calm));
    for (let crashAt = 1; crashAt <= calm.writes; crashAt++) {
      for (const counts of [false, true]) {
        const manager = new MortalManager(crashAt, counts);
        await scenario(manager);
        const where = `${counts ? 'after' : 'before'} write ${crashAt} of ${calm.writes}`;
        assert.deepEqual(normalized(endOf(manager)), expected, where);
      }
    }
  });
}

test('the same world gives the same writes in the same order', async () => {
  const trace = async (): Promise<readonly string[]> => {
    const manager = new MortalManager(-1, false);
    for (const scenario of Object.values(SCENARIOS)) await scenario(manager);
    return manager.world.api.writes.map(
      ({ identity, verb, resource, key }) => `${identity} ${verb} ${resource} ${key}`,
    );
  };
  assert.deepEqual(await trace(), await trace());
});

/** Names of pods follow from uids, which a lost create shifts. */
const normalized = (end: unknown): unknown =>
  JSON.parse(
    JSON.stringify(end)
      .replaceAll(/web-[a-z0-9]{10}-[a-z0-9]{5}/g, 'web-pod')
      .replaceAll(/"default\/(web|task-\d|tick-\d+)-[a-z0-9]{5}"/g, '"$1-pod"'),
  );
