import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
import fc from 'fast-check';
import type { ContainerStatus } from '../runtime/port.ts';
import { applied, container, type Mutable, podOf, started, World } from '../testing/pod-world.ts';
import { INITIAL_MEMORY } from './pod-worker-types.ts';

test('[SAFE-32] a pod starts after the API confirmed it, and reports it once', () => {
  assert.deepEqual(started().applied, ['confirm', 'runSandbox', 'start main#0', 'write Running']);
});

test('[SAFE-32] a pod that the API does not confirm is not started', () => {
  const world = new World(podOf({}));
  world.apiIsCut = true;
  world.settle();
  assert.deepEqual([world.applied, world.sandboxes], [['confirm'], []]);
});

test('[SAFE-26] a pod waits while its name is in use', () => {
  const world = new World(podOf({}));
  world.nameIsTaken = true;
  world.settle();
  assert.deepEqual(world.applied, ['write Pending']);
  assert.deepEqual(
    applied(world, () => {
      world.nameIsTaken = false;
    }),
    ['confirm', 'runSandbox', 'start main#0', 'write Running'],
  );
});

test('[SAFE-07] [SAFE-12] [SAFE-13] [LIFE-12] deletion: kill, final status, release, delete', () => {
  const world = started();
  assert.deepEqual(
    applied(world, () => world.requestDeletion(30)),
    ['stop main 30'],
  );
  assert.deepEqual(
    applied(world, () => world.exit(world.alive[0] as Mutable<ContainerStatus>, 143)),
    ['stopSandbox', 'write Failed', 'removeSandbox', 'deletePod', 'forget'],
  );
});

test('[SAFE-02] a pod deleted before it started never starts', () => {
  const world = new World(podOf({}));
  world.requestDeletion(30);
  world.settle();
  assert.deepEqual(world.applied, ['write Failed', 'deletePod', 'forget']);
});

test('[SAFE-08] [TERM-04] after a crash the termination restarts with the full grace period', () => {
  const world = started();
  world.requestDeletion(30);
  world.settle();
  world.pass(20_000);
  world.killAt.clear();
  assert.deepEqual(
    applied(world, () => {
      world.memory = INITIAL_MEMORY;
    }),
    ['stop main 30'],
  );
});

test('[TERM-18] a pod whose object is gone gets a short grace period, however long the earlier one', () => {
  const world = started({ terminationGracePeriodSeconds: 600 });
  assert.deepEqual(
    applied(world, () => world.requestDeletion(600)),
    ['stop main 600'],
  );
  assert.deepEqual(
    applied(world, () => {
      world.pod = undefined;
    }),
    ['stop main 2'],
  );
});

test('[SIDE-09] on termination all hooks begin at once; signals of sidecars follow the apps, the last declared first, within one grace period', () => {
  const sidecar = (name: string): Container => container(name, { restartPolicy: 'Always' });
  const world = started({ initContainers: [sidecar('one'), sidecar('two')] });
  const exitOf = (name: string) => () => {
    const target = world.alive.find(({ config }) => config.name === name);
    assert.ok(target !== undefined);
    world.pass(10_000);
    world.exit(target, 0);
  };
  assert.deepEqual(
    applied(world, () => world.requestDeletion(30)).filter((each) => each.startsWith('stop ')),
    ['stop one 30, waits', 'stop two 30, waits', 'stop main 30'],
  );
  const stops = (name: string): string[] => applied(world, exitOf(name)).filter((each) => each.startsWith('stop '));
  assert.deepEqual(stops('main'), ['stop two 20']);
  assert.deepEqual(stops('two'), ['stop one 10']);
});

const HOOKED: Partial<Container> = { lifecycle: { postStart: { exec: { command: ['wait'] } } } };

test('[LIFE-17] the next containers start when the postStart hook of a container has ended, with or without success', () => {
  for (const result of ['done', 'failed'] as const) {
    const world = started({ containers: [container('proxy', HOOKED), container('main')] });
    assert.deepEqual(world.applied, ['confirm', 'runSandbox', 'start proxy#0', 'write Pending']);
    const after = applied(world, () => world.endPostStart('proxy', result));
    assert.deepEqual(after.slice(0, -1), [...(result === 'failed' ? ['stop proxy 30'] : []), 'start main#0']);
  }
  const initContainers = [container('proxy', { restartPolicy: 'Always', ...HOOKED })];
  const world = started({ initContainers });
  assert.deepEqual(
    world.alive.map(({ config }) => config.name),
    ['proxy'],
  );
  assert.ok(applied(world, () => world.endPostStart('proxy', 'done')).includes('start main#0'));
});

test('[LIFE-17] a hook holds no container that runs, and no restart once its container has ended', () => {
  const world = started({ containers: [container('proxy', HOOKED), container('main')] });
  world.endPostStart('proxy', 'done');
  world.settle();
  world.exit(world.named('proxy'), 1);
  assert.ok(applied(world, () => world.pass(11_000)).includes('start proxy#1'));
  assert.deepEqual(
    applied(world, () => world.failLiveness(world.named('main'))),
    ['stop main 30'],
  );
  world.exit(world.named('main'), 1);
  assert.ok(!applied(world, () => world.pass(11_000)).includes('start main#1'));
  assert.ok(applied(world, () => world.exit(world.named('proxy'), 1)).includes('start main#1'));
});

test('[LIFE-22] a container is stopped in the pass that starts another one', () => {
  const world = started({ containers: [container('a'), container('b')] });
  world.exit(world.named('a'), 1);
  world.failLiveness(world.named('b'));
  assert.deepEqual(
    applied(world, () => {}),
    ['stop b 30', 'start a#1', 'write Running'],
  );
});

test('[LIFE-22] old lives are removed after the status is written: a removal that fails keeps nothing back', () => {
  const world = started();
  const next = (): string[] =>
    applied(world, () => {
      world.pass(700_000);
      world.exit(world.named('main'), 1);
    });
  next();
  assert.deepEqual(next(), ['start main#2', 'write Running', 'removeContainer']);
});

test('[INIT-05] [INIT-06] a failing init container is restarted, or fails a pod that may not restart', () => {
  const fail = (spec: Partial<Pod['spec']>): World => {
    const world = started({ initContainers: [container('setup')], ...spec });
    world.exit(world.alive[0] as Mutable<ContainerStatus>, 1);
    world.settle();
    return world;
  };
  assert.deepEqual(
    fail({}).alive.map(({ config }) => [config.name, config.restartCount]),
    [['setup', 1]],
  );
  const onFailure = fail({ restartPolicy: 'OnFailure' });
  assert.deepEqual(
    onFailure.alive.map(({ config }) => [config.name, config.restartCount]),
    [['setup', 1]],
  );
  const never = fail({ restartPolicy: 'Never' });
  assert.equal(never.pod?.status.phase, 'Failed');
  assert.deepEqual(never.alive, []);
  assert.ok(!never.applied.some((each) => each.startsWith('start main')));
});

test('[POD-11] a pod for another operating system is refused', () => {
  const world = started({ os: { name: 'windows' } });
  assert.deepEqual(world.sandboxes, []);
  const { phase, reason, message } = world.pod?.status ?? {};
  assert.deepEqual(
    [phase, reason, message],
    ['Failed', 'PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS"],
  );
  assert.equal(started({ os: { name: 'linux' } }).pod?.status.phase, 'Running');
});

test('[LIFE-04] a container with a lost record is not run twice when it may run once', () => {
  const world = started({ restartPolicy: 'Never' });
  world.sandboxes = [];
  world.memory = INITIAL_MEMORY;
  world.settle();
  assert.equal(world.pod?.status.phase, 'Failed');
  assert.equal(world.pod?.status.containerStatuses?.[0]?.state.terminated?.reason, 'ContainerStatusUnknown');
  assert.equal(world.sandboxes.length, 0);
});

type Step =
  | { readonly kind: 'exit'; readonly which: number; readonly exitCode: number }
  | { readonly kind: 'unfit' | 'image'; readonly which: number }
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'crash' | 'forceDelete' | 'reboot' | 'cut' | 'heal' | 'wipe' }
  | { readonly kind: 'delete'; readonly graceSeconds: number };

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('exit' as const),
      which: fc.nat(3),
      exitCode: fc.constantFrom(0, 1, 143),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('unfit' as const, 'image' as const), which: fc.nat(3) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('time' as const), ms: fc.integer({ min: 1, max: 700_000 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('crash' as const, 'cut' as const, 'heal' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('reboot' as const, 'wipe' as const, 'forceDelete' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('delete' as const), graceSeconds: fc.integer({ min: 1, max: 60 }) }),
  },
);

const specArbitrary: fc.Arbitrary<Partial<Pod['spec']>> = fc.record({
  restartPolicy: fc.constantFrom('Always', 'OnFailure', 'Never'),
  containers: fc.constantFrom([container('a')], [container('a'), container('b')]),
  initContainers: fc.constantFrom([], [container('i')], [container('i'), container('s', { restartPolicy: 'Always' })]),
  terminationGracePeriodSeconds: fc.integer({ min: 0, max: 60 }),
});

function replaceImage(world: World, which: number): void {
  if (world.pod === undefined) return;
  const { spec } = world.pod;
  const containers = spec.containers.map((each, i) =>
    i === which % spec.containers.length ? { ...each, image: `${each.image}+` } : each,
  );
  world.pod = { ...world.pod, spec: { ...spec, containers } };
}

function perform(world: World, step: Step): void {
  switch (step.kind) {
    case 'exit': {
      const target = world.alive[step.which % Math.max(1, world.alive.length)];
      if (target !== undefined) world.exit(target, step.exitCode);
      return;
    }
    case 'unfit': {
      const target = world.alive[step.which % Math.max(1, world.alive.length)];
      if (target !== undefined) world.failLiveness(target);
      return;
    }
    case 'image':
      return replaceImage(world, step.which);
    case 'time':
      return world.pass(step.ms);
    case 'delete':
      return world.requestDeletion(step.graceSeconds);
    case 'forceDelete':
      world.pod = undefined;
      return;
    case 'crash':
      world.memory = INITIAL_MEMORY;
      world.killAt.clear();
      return;
    case 'reboot':
      for (const target of world.alive) world.exit(target, 137);
      for (const sandbox of world.sandboxes) sandbox.state = 'notReady';
      world.memory = INITIAL_MEMORY;
      return;
    case 'wipe':
      if (world.alive.length === 0) world.sandboxes = [];
      world.memory = INITIAL_MEMORY;
      return;
    case 'cut':
      world.apiIsCut = true;
      return;
    case 'heal':
      world.apiIsCut = false;
      return;
  }
}

test('[SAFE-02] [SAFE-07] [SAFE-12] [SAFE-13] [SAFE-30] [LIFE-02] [LIFE-07] [LIFE-15] the rules hold in any sequence, and a deleted pod always ends', () => {
  fc.assert(
    fc.property(specArbitrary, fc.array(stepArbitrary, { maxLength: 25 }), (spec, steps) => {
      const world = started(spec);
      for (const step of steps) {
        perform(world, step);
        if (step.kind !== 'unfit' && step.kind !== 'image') world.settle();
      }
      world.settle();
      world.apiIsCut = false;
      world.requestDeletion(30);
      for (let i = 0; i < 20 && (world.pod !== undefined || world.sandboxes.length > 0); i++) {
        world.settle();
        world.pass(70_000);
      }
      assert.deepEqual([world.pod, world.sandboxes], [undefined, []], 'it ended');
    }),
    { numRuns: 2_000 },
  );
});

test('[LIFE-22] between two starts of a container at least its back-off passes, and at most 300 s after its end', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 900_000 }), { minLength: 2, maxLength: 20 }), (lives) => {
      const world = started();
      let expected = 0;
      for (const ms of lives) {
        world.pass(ms);
        const ended = world.now;
        world.exit(world.alive[0] as Mutable<ContainerStatus>, 1);
        world.settle();
        if (world.alive.length === 0) {
          const wake = world.decide().wakeAfterMs ?? Number.NaN;
          assert.ok(wake > 0 && wake <= 300_000);
          world.pass(wake - 1);
          world.settle();
          assert.equal(world.alive.length, 0, 'not a moment earlier');
          world.pass(1);
          world.settle();
        }
        assert.equal(world.alive.length, 1);
        const waited = world.now - ended;
        if (ms > 600_000) expected = 0;
        assert.equal(waited, expected);
        expected = expected === 0 ? 10_000 : Math.min(300_000, expected * 2);
      }
    }),
  );
});

test('a server that stores a slightly different status is not written to for ever', () => {
  const world = started();
  const { pod } = world;
  assert.ok(pod !== undefined);
  const status = { ...pod.status, hostIP: 'normalized' };
  world.pod = { ...pod, metadata: { ...pod.metadata, resourceVersion: '2' }, status };
  world.memory = { ...world.memory, acknowledged: { status: pod.status, resourceVersion: '2' } };
  assert.deepEqual(world.decide().actions, []);
  world.pod = { ...world.pod, metadata: { ...pod.metadata, resourceVersion: '3' } };
  assert.deepEqual(
    world.decide().actions.map(({ kind }) => kind),
    ['writeStatus'],
  );
});

test('[EPH-02] [EPH-08] an ephemeral container is started once, never again, and changes nothing else', () => {
  const world = started();
  const pod = world.pod ?? assert.fail('the pod exists');
  const before = pod.status;
  world.pod = { ...pod, spec: { ...pod.spec, ephemeralContainers: [container('debugger')] } };
  world.settle();
  const debug = world.alive.find(({ config }) => config.name === 'debugger') ?? assert.fail('it runs');
  const status = (): Pod['status'] => world.pod?.status ?? assert.fail('the pod exists');
  const [running] = status().ephemeralContainerStatuses ?? [];
  assert.ok(running?.state.running !== undefined && !running.ready);
  world.exit(debug, 1);
  world.pass(400_000);
  world.settle();
  const [told] = status().ephemeralContainerStatuses ?? [];
  assert.deepEqual([told?.state.terminated?.exitCode, told?.restartCount, told?.ready], [1, 0, false]);
  assert.deepEqual(
    { ...status(), ephemeralContainerStatuses: undefined },
    { ...before, ephemeralContainerStatuses: undefined },
  );
});

test('[EPH-01] an ephemeral container also runs when an init container hangs, and ends with its pod', () => {
  const world = new World(
    podOf({ initContainers: [container('hangs')], ephemeralContainers: [container('debugger')] }),
  );
  world.settle();
  assert.deepEqual(world.alive.map(({ config }) => config.name).toSorted(), ['debugger', 'hangs']);
  world.requestDeletion(5);
  world.settle();
  world.pass(6_000);
  world.settle();
  assert.deepEqual([world.pod, world.sandboxes], [undefined, []]);
});

test('[EPH-08] a pod completes although an ephemeral container runs, and ends it', () => {
  const world = started({ restartPolicy: 'Never', ephemeralContainers: [container('debugger')] });
  world.exit(world.alive.find(({ config }) => config.name === 'main') ?? assert.fail('it runs'), 0);
  world.settle();
  world.pass(31_000);
  world.settle();
  assert.deepEqual([world.pod?.status.phase, world.alive], ['Succeeded', []]);
});
