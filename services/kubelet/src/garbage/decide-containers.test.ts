import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ContainerStatus, SandboxStatus } from '../runtime/port.ts';
import { decideContainers } from './decide-containers.ts';
import { DEFAULT_GARBAGE_POLICY } from './policy.ts';

const POLICY = DEFAULT_GARBAGE_POLICY.containers;
const NOW = 1_000_000;

const life = (name: string, restartCount: number, state: ContainerStatus['state'] = 'exited'): ContainerStatus => ({
  id: `${name}-${restartCount}`,
  config: { name, image: 'i', restartCount },
  state,
  createdAt: restartCount * 1_000,
});

const sandbox = (podUid: string, attempt: number, containers: readonly ContainerStatus[]): SandboxStatus => ({
  id: `${podUid}/${attempt}`,
  config: { podUid, podName: podUid, podNamespace: 'default', hostname: podUid, attempt },
  state: 'notReady',
  createdAt: attempt,
  ip: '',
  containers: containers.map((each) => ({ ...each, id: `${podUid}/${each.id}` })),
});

const restarts = [0, 1, 2, 3].map((count) => life('main', count));

test('one previous container is kept for its log; a running one is never removed', () => {
  const running = sandbox('u1', 0, [...restarts, life('main', 4, 'running')]);
  assert.deepEqual(decideContainers(POLICY, [running], NOW).containers.toSorted(), [
    'u1/main-0',
    'u1/main-1',
    'u1/main-2',
  ]);
  const waiting = sandbox('u2', 0, restarts);
  assert.deepEqual(decideContainers(POLICY, [waiting], NOW).containers.toSorted(), ['u2/main-0', 'u2/main-1']);
  const another = sandbox('u3', 0, [life('main', 0), life('side', 0), life('main', 1, 'created')]);
  assert.deepEqual(decideContainers(POLICY, [another], NOW).containers, [], 'each container of a pod for itself');
});

test('the policy limits the number, the minimum age, and the number on the whole node', () => {
  const pods = ['u1', 'u2'].map((uid) => sandbox(uid, 0, [...restarts, life('main', 4, 'running')]));
  const count = (change: Partial<typeof POLICY>): number =>
    decideContainers({ ...POLICY, ...change }, pods, NOW).containers.length;
  assert.deepEqual([count({}), count({ perContainer: 0 }), count({ perContainer: -1 })], [6, 8, 0]);
  assert.equal(count({ minAgeMs: NOW + 1 }), 0);
  assert.equal(count({ minAgeMs: NOW - 1_500 }), 2, 'only the first two of each are old enough: one of them is kept');
  const beyond = decideContainers({ ...POLICY, perContainer: -1, total: 3 }, pods, NOW).containers;
  assert.deepEqual(
    beyond.toSorted(),
    ['u1/main-0', 'u1/main-1', 'u1/main-2', 'u2/main-0', 'u2/main-1', 'u2/main-2'].slice(0, 6),
  );
});

test('a replaced sandbox is removed when it is empty; the current one stays', () => {
  const replaced = [
    sandbox('u1', 0, [life('main', 0)]),
    sandbox('u1', 1, [life('main', 1)]),
    sandbox('u1', 2, [life('main', 2)]),
  ];
  assert.deepEqual(decideContainers(POLICY, replaced, NOW), { containers: ['u1/main-0'], sandboxes: ['u1/0'] });
  const alive = replaced.map((each) => ({ ...each, state: 'ready' as const }));
  assert.deepEqual(decideContainers(POLICY, alive, NOW).sandboxes, []);
});

test('with any containers: only ended ones are removed, never the latest of a name, and the limits hold as far as that allows', () => {
  const lives = fc.array(
    fc.record({
      pod: fc.nat(3),
      name: fc.constantFrom('a', 'b'),
      state: fc.constantFrom('exited', 'running', 'created'),
    }),
    { maxLength: 40 },
  );
  const policy = fc.record({
    perContainer: fc.integer({ min: -1, max: 4 }),
    total: fc.integer({ min: -1, max: 10 }),
    minAgeMs: fc.constant(0),
  });
  fc.assert(
    fc.property(lives, policy, (all, limits) => {
      const pods = [0, 1, 2, 3].map((pod) => {
        const counts = { a: 0, b: 0 };
        const own = all.flatMap(({ pod: of, name, state }) =>
          of !== pod || (name !== 'a' && name !== 'b')
            ? []
            : [life(name, counts[name]++, state as ContainerStatus['state'])],
        );
        return sandbox(`u${pod}`, 0, own);
      });
      const gone = new Set(decideContainers(limits, pods, NOW).containers);
      let kept = 0;
      for (const { containers } of pods) {
        for (const name of ['a', 'b']) {
          const [latest, ...earlier] = containers.filter(({ config }) => config.name === name).toReversed();
          assert.ok(latest === undefined || !gone.has(latest.id));
          assert.ok(earlier.every(({ id, state }) => state === 'exited' || !gone.has(id)));
          const dead = earlier.filter(({ id, state }) => state === 'exited' && !gone.has(id)).length;
          if (limits.perContainer >= 0) assert.ok(dead <= limits.perContainer);
          kept += dead;
        }
      }
      if (limits.total >= 0) assert.ok(kept <= limits.total);
    }),
  );
});
