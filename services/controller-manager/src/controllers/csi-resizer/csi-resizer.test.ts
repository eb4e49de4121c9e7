import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, type PersistentVolumeClaim } from '@holdfast/api';
import fc from 'fast-check';
import { uidOf } from '../../common/meta.ts';
import { DriverError } from '../../csi/port.ts';
import { CsiDriverModel, MODEL_DRIVER } from '../../testing/csi-driver-model.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { claim, volume } from '../../testing/volume-builders.ts';
import { afterExpansion, decideResize, withCapacity } from './decide.ts';
import { csiResizerController } from './index.ts';

const C = { namespace: 'default', name: 'data' };
const SOURCE = { driver: MODEL_DRIVER, volumeHandle: 'vol-1' };
const GI = 1024 ** 3;

/** A bound claim of 1Gi whose request was raised to 2Gi. */
function createCluster() {
  const world = createWorld();
  const driver = new CsiDriverModel();
  driver.disks.set('vol-1', { name: 'data', bytes: GI, nodes: new Set() });
  const raised = claim('data', { volumeName: 'data', resources: { requests: { storage: '2Gi' } } });
  const stored = world.api.put(PERSISTENT_VOLUME_CLAIMS, {
    ...raised,
    status: { phase: 'Bound', capacity: { storage: '1Gi' } },
  });
  const claimRef = { namespace: 'default', name: 'data', uid: uidOf(stored) };
  world.api.put(PERSISTENT_VOLUMES, { ...volume('data', { csi: SOURCE, claimRef }), status: { phase: 'Bound' } });
  const controller = new DrivenController(world, csiResizerController(new Map([[MODEL_DRIVER, driver]])));
  const status = (): PersistentVolumeClaim['status'] => world.api.get(PERSISTENT_VOLUME_CLAIMS, C).status;
  const capacity = (): unknown => world.api.get(PERSISTENT_VOLUMES, { name: 'data' }).spec.capacity?.['storage'];
  return { world, driver, controller, status, capacity };
}

test('a claim that grows is expanded by its driver, and waits for its node', async () => {
  const { world, driver, controller, status, capacity } = createCluster();
  await controller.settle();
  assert.deepEqual([driver.calls, capacity()], [[`expand vol-1 ${2 * GI}`], '2Gi']);
  assert.deepEqual(
    [status().conditions?.map(({ type }) => type), status().capacity, status().allocatedResourceStatuses],
    [['FileSystemResizePending'], { storage: '1Gi' }, { storage: 'NodeResizePending' }],
  );
  assert.deepEqual(
    world.api.events.map(({ reason }) => reason),
    ['Resizing', 'FileSystemResizeRequired'],
  );
});

test('a driver that expands alone leaves nothing to be done', async () => {
  const { driver, controller, status } = createCluster();
  driver.expandsOnNode = false;
  await controller.settle();
  const { phase, capacity, ...rest } = status();
  assert.deepEqual([phase, capacity, rest], ['Bound', { storage: '2Gi' }, {}]);
});

test('an expansion goes on after a crash at any write, and ends the same', async () => {
  for (let crash = 0; crash < 3; crash++) {
    const { world, driver, controller, status, capacity } = createCluster();
    let writes = 0;
    world.api.afterWrite = () => {
      if (writes++ === crash) throw new Error('the answer is lost');
    };
    await controller.settle();
    world.clock.skip(600_000);
    await controller.settle();
    assert.deepEqual([status().conditions?.map(({ type }) => type), capacity()], [['FileSystemResizePending'], '2Gi']);
    assert.equal(driver.disk('vol-1').bytes, 2 * GI);
  }
});

test('a refused size is reported and marked as infeasible; a smaller request is tried at once', async () => {
  const { world, driver, controller, status, capacity } = createCluster();
  driver.before = (call) => {
    if (call === `expand vol-1 ${2 * GI}`) throw new DriverError('the pool is full', { isRefusal: true });
  };
  await controller.settle();
  assert.equal(status().allocatedResourceStatuses?.['storage'], 'ControllerResizeInfeasible');
  assert.match(
    world.api.events.at(-1)?.message ?? '',
    /resize volume "data" by resizer "disk.test" failed: the pool is full/,
  );
  assert.equal(driver.calls.length, 1, 'its own report does not wake it');
  const met = world.api.get(PERSISTENT_VOLUME_CLAIMS, C);
  world.api.put(PERSISTENT_VOLUME_CLAIMS, {
    ...met,
    spec: { ...met.spec, resources: { requests: { storage: '1536Mi' } } },
  });
  await controller.settle();
  assert.equal(capacity(), '1536Mi');
});

test('with any sizes and conditions: nothing shrinks, nothing is done twice, and each step brings the claim nearer', () => {
  const size = fc.integer({ min: 1, max: 4 });
  const any = fc.record({
    asked: size,
    have: size,
    volume: size,
    onNode: fc.boolean(),
    conditions: fc.subarray(['Resizing', 'FileSystemResizePending']),
  });
  fc.assert(
    fc.property(any, (x) => {
      let mine: PersistentVolumeClaim = {
        ...claim('data', { volumeName: 'data', resources: { requests: { storage: `${x.asked}Gi` } } }, { uid: 'u-1' }),
        status: {
          phase: 'Bound',
          capacity: { storage: `${x.have}Gi` },
          conditions: x.conditions.map((type) => ({ type, status: 'True' })),
        },
      };
      let met = volume('data', { csi: SOURCE, claimRef: { uid: 'u-1' }, capacity: { storage: `${x.volume}Gi` } });
      const steps: string[] = [];
      for (;;) {
        const action = decideResize({ driver: MODEL_DRIVER, claim: mine, volume: met }, 0);
        steps.push(action.kind);
        assert.ok(steps.length <= 3, steps.join(' '));
        if (action.kind === 'none') break;
        assert.ok(x.asked > x.have);
        if (action.kind === 'begin') mine = action.claim;
        else {
          assert.equal(action.bytes, x.asked * GI);
          met = withCapacity(met, action.bytes) ?? met;
          mine = afterExpansion(mine, { bytes: action.bytes, onNode: x.onNode }, 0);
        }
      }
      const grown = Number.parseInt(met.spec.capacity?.['storage'] ?? '', 10);
      assert.equal(grown, steps.includes('expand') ? Math.max(x.volume, x.asked) : x.volume);
    }),
  );
});
