import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMPLETION_INDEX_ANNOTATION, hasPodSucceeded, type Job, type Pod } from '@holdfast/api';
import fc from 'fast-check';
import { isControlledBy, isTerminating, nameOf, uidOf } from '../../common/meta.ts';
import { isActive } from '../../common/pods.ts';
import { job, pod } from '../../testing/builders.ts';
import { decide, type JobDecision } from './decide.ts';
import { indexOf, isTracked, TRACKING_FINALIZER } from './facts.ts';

const NOW = 1_767_225_600_000;
const LABELS = { 'batch.kubernetes.io/job-name': 'task' };
const owner = (uid: string) => [{ apiVersion: 'batch/v1', kind: 'Job', name: 'task', uid, controller: true }];

const anyPod = fc.record({
  name: fc.integer({ min: 0, max: 11 }),
  owner: fc.constantFrom('ours', 'ours', 'ours', 'none', 'stranger'),
  labelled: fc.constantFrom(true, true, true, false),
  phase: fc.constantFrom('Pending', 'Running', 'Running', 'Failed', 'Succeeded'),
  terminating: fc.boolean(),
  tracked: fc.boolean(),
  index: fc.integer({ min: 0, max: 6 }),
  exitCode: fc.constantFrom(1, 42),
});

const anySpec = fc.record({
  parallelism: fc.integer({ min: 0, max: 6 }),
  completions: fc.integer({ min: 0, max: 6 }),
  backoffLimit: fc.integer({ min: 0, max: 8 }),
  isIndexed: fc.boolean(),
  perIndex: fc.boolean(),
  suspend: fc.constantFrom(false, false, true),
  podReplacementPolicy: fc.constantFrom('Failed', 'TerminatingOrFailed'),
  ignores: fc.boolean(),
  counted: fc.integer({ min: 0, max: 4 }),
});

type Spec = typeof anySpec extends fc.Arbitrary<infer T> ? T : never;
type PodSpec = typeof anyPod extends fc.Arbitrary<infer T> ? T : never;

function jobOf({ isIndexed, perIndex, ignores, counted, ...spec }: Spec): Job {
  const rules = [{ action: 'Ignore', onExitCodes: { operator: 'In', values: [42] } }];
  const built = job(
    {
      ...spec,
      ...(isIndexed ? { completionMode: 'Indexed' } : {}),
      ...(isIndexed && perIndex ? { backoffLimitPerIndex: 1 } : {}),
      ...(ignores ? { podFailurePolicy: { rules } } : {}),
    },
    { uid: 'job-1', resourceVersion: '1' },
  );
  return isIndexed ? built : { ...built, status: { succeeded: counted } };
}

const podOf = (p: PodSpec): Pod =>
  pod(
    {
      name: `task-${p.name}`,
      uid: `uid-${p.name}`,
      resourceVersion: '1',
      labels: p.labelled ? LABELS : {},
      annotations: { [COMPLETION_INDEX_ANNOTATION]: String(p.index) },
      creationTimestamp: '2025-12-31T00:00:00Z',
      ...(p.tracked ? { finalizers: [TRACKING_FINALIZER] } : {}),
      ...(p.owner === 'none' ? {} : { ownerReferences: owner(p.owner === 'ours' ? 'job-1' : 'job-2') }),
      ...(p.terminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    {
      phase: p.phase,
      containerStatuses: [
        {
          name: 'main',
          image: '',
          imageID: '',
          ready: false,
          restartCount: 0,
          lastState: {},
          state:
            p.phase === 'Failed' ? { terminated: { exitCode: p.exitCode, finishedAt: '2025-12-31T00:00:00Z' } } : {},
        },
      ],
    },
    { nodeName: 'node-a' },
  );

const anyPicture = fc.tuple(
  anySpec.map(jobOf),
  fc.uniqueArray(anyPod, { selector: ({ name }) => name, maxLength: 12 }).map((pods) => pods.map(podOf)),
);

const decideOn = (of: Job, pods: readonly Pod[], caughtUp = true): JobDecision =>
  decide({ job: of, pods, caughtUp, unansweredDeletes: new Set(), avoidedNames: new Set() }, NOW);

const ownActive = (pods: readonly Pod[]): readonly Pod[] =>
  pods.filter((each) => isControlledBy(each, 'job-1') && isActive(each));

test('[POD-14] decide starts no pod beyond parallelism and completions, and stops none in the same pass', () => {
  fc.assert(
    fc.property(anyPicture, ([of, pods]) => {
      const decision = decideOn(of, pods);
      const { parallelism = 0, completions = 0, suspend } = of.spec;
      assert.ok(decision.create.length === 0 || decision.delete.length === 0);
      if (decision.create.length === 0) return;
      assert.equal(suspend, false);
      const after = ownActive(pods).length + decision.create.length;
      assert.ok(after <= parallelism && after <= completions, `${after} pods`);
      const names = new Set(pods.map(nameOf));
      for (const created of decision.create) {
        assert.ok(!names.has(nameOf(created)) && isTracked(created));
        names.add(nameOf(created));
      }
    }),
    { numRuns: 500 },
  );
});

test('decide gives no index to two pods, nor one that has succeeded', () => {
  fc.assert(
    fc.property(anyPicture, ([of, pods]) => {
      if (of.spec.completionMode !== 'Indexed') return;
      const busy = new Set(ownActive(pods).map((each) => indexOf(of, each)));
      const done = pods.filter((each) => isControlledBy(each, 'job-1') && isTracked(each) && hasPodSucceeded(each));
      for (const each of done) busy.add(indexOf(of, each));
      for (const created of decideOn(of, pods).create) {
        const index = indexOf(of, created);
        assert.ok(index !== undefined && !busy.has(index), `index ${index}`);
        busy.add(index);
      }
    }),
    { numRuns: 500 },
  );
});

test('decide leaves foreign pods alone, releases only finished ones, and records each release once', () => {
  fc.assert(
    fc.property(anyPicture, ([of, pods]) => {
      const decision = decideOn(of, pods);
      for (const each of [...decision.letGo, ...decision.delete, ...decision.release]) {
        assert.ok(isControlledBy(each, 'job-1'));
      }
      for (const each of decision.delete) assert.ok(isActive(each));
      for (const each of decision.letGo) assert.ok(isTracked(each) && (!isActive(each) || isTerminating(of)));
      const { succeeded = [], failed = [] } = decision.status?.uncountedTerminatedPods ?? {};
      const noted = [...succeeded, ...failed];
      assert.equal(new Set(noted).size, noted.length);
      const letGo = new Set(decision.letGo.map(uidOf));
      for (const uid of noted) assert.ok(letGo.has(uid));
    }),
    { numRuns: 500 },
  );
});

test('decide counts, starts and stops nothing on a stale cache', () => {
  fc.assert(
    fc.property(anyPicture, ([of, pods]) => {
      const { create, delete: deleted, letGo, status } = decideOn(of, pods, false);
      assert.deepEqual([create, deleted, letGo, status], [[], [], [], undefined]);
    }),
  );
});

test('decide does nothing once its actions are done', () => {
  fc.assert(
    fc.property(anyPicture, ([of, pods]) => {
      let current = of;
      let world: readonly Pod[] = pods;
      for (let pass = 0; pass < 8; pass++) {
        const decision = decideOn(current, world);
        const isQuiet =
          decision.status === undefined &&
          [decision.adopt, decision.release, decision.letGo, decision.create, decision.delete].every(
            (l) => l.length === 0,
          );
        if (isQuiet) return;
        current = { ...current, status: decision.status ?? current.status };
        world = performed(world, decision);
      }
      assert.fail('never at rest');
    }),
    { numRuns: 500 },
  );
});

/** The pods as they are when everything was written; what is deleted is gone, what is created waits. */
function performed(pods: readonly Pod[], decision: JobDecision): readonly Pod[] {
  const changed = new Map<string, Partial<Pod['metadata']>>();
  for (const each of decision.adopt)
    changed.set(uidOf(each), { ownerReferences: owner('job-1'), finalizers: [TRACKING_FINALIZER] });
  for (const each of decision.release) changed.set(uidOf(each), { ownerReferences: [], finalizers: [] });
  for (const each of decision.letGo) changed.set(uidOf(each), { finalizers: [] });
  const deleted = new Set(decision.delete.map(uidOf));
  const kept = pods
    .filter((each) => !deleted.has(uidOf(each)))
    .map((each) => ({ ...each, metadata: { ...each.metadata, ...changed.get(uidOf(each)) } }));
  const created = decision.create.map((each) => ({
    ...each,
    metadata: { ...each.metadata, uid: `uid-${nameOf(each)}`, creationTimestamp: '2026-01-01T00:00:00Z' },
  }));
  return [...kept, ...created];
}
