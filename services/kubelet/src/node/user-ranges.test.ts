import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { userRangePool } from '../domain/user-ranges.ts';
import { createHollowRuntime } from '../runtime/hollow/index.ts';
import type { ContainerRuntime, RuntimeAbilities, SandboxStatus } from '../runtime/port.ts';
import { UserRanges } from './user-ranges.ts';

const podOf = (uid: string, hostUsers?: boolean): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: uid, namespace: 'default', uid },
  spec: { containers: [], ...(hostUsers === undefined ? {} : { hostUsers }) },
  status: {},
});

const base = (): ContainerRuntime =>
  createHollowRuntime({
    clock: createVirtualClock(),
    random: createSeededRandom(1, 'r'),
    nodeName: 'n',
  });
const runtimeThat = (refusal: string | undefined): ContainerRuntime => ({
  ...base(),
  userNamespaces: { mapsVolumes: true, refusal: () => Promise.resolve(refusal) },
});
const able = runtimeThat(undefined);

const sandboxOf = (podUid: string, firstId: number): SandboxStatus => ({
  id: `s-${podUid}`,
  config: {
    podUid,
    podName: podUid,
    podNamespace: 'default',
    hostname: podUid,
    attempt: 0,
    userRange: { firstId, length: 65_536 },
  },
  state: 'notReady',
  createdAt: 0,
  ip: '',
  containers: [],
});

const firstIdOf = async (ranges: UserRanges, uid: string): Promise<number | undefined> =>
  (await ranges.of(podOf(uid, false), able, ''))?.firstId;

test('[USERNS-01] only pods that request it get a user namespace', async () => {
  const ranges = new UserRanges(userRangePool());
  assert.equal(await ranges.of(podOf('a'), able, ''), undefined);
  assert.equal(await ranges.of(podOf('b', true), able, ''), undefined);
  assert.deepEqual(await ranges.of(podOf('c', false), able, ''), { firstId: 65_536, length: 65_536 });
});

test('[USERNS-02] [EXP-17] a pod keeps its range until nothing of it is left; then another pod may get it', async () => {
  const ranges = new UserRanges(userRangePool());
  assert.equal(await firstIdOf(ranges, 'a'), 65_536);
  assert.equal(await firstIdOf(ranges, 'b'), 131_072);
  assert.equal(await firstIdOf(ranges, 'a'), 65_536, 'another sandbox of the same pod');
  ranges.release('a');
  assert.equal(await firstIdOf(ranges, 'c'), 65_536);
});

test('[USERNS-02] a restarted kubelet reads the ranges in use from the sandboxes', async () => {
  const ranges = new UserRanges(userRangePool());
  ranges.hold([sandboxOf('old', 65_536), sandboxOf('older', 196_608)]);
  assert.equal(await firstIdOf(ranges, 'new'), 131_072);
  assert.equal(await firstIdOf(ranges, 'newer'), 262_144);
  assert.equal(await firstIdOf(ranges, 'older'), 196_608);
});

test('[USERNS-02] with all ranges in use the next pod waits, and reports why', async () => {
  const ranges = new UserRanges({ firstId: 65_536, ranges: 1 });
  await firstIdOf(ranges, 'a');
  await assert.rejects(firstIdOf(ranges, 'b'), /all 1 ranges of user ids of this node are in use/);
  ranges.release('a');
  assert.equal(await firstIdOf(ranges, 'b'), 65_536);
});

test('[USERNS-08] a pod that requests a user namespace never runs in that of the machine', async () => {
  const wish = podOf('a', false);
  const ranges = new UserRanges(userRangePool());
  await assert.rejects(ranges.of(wish, base(), ''), /not supported by the runtime of this node/);
  await assert.rejects(ranges.of(wish, runtimeThat('handler "x" cannot'), 'x'), /handler "x" cannot/);
  await assert.rejects(
    new UserRanges(undefined).of(wish, able, ''),
    /feature gate "UserNamespacesSupport" is disabled/,
  );
});

const PROCESSES: RuntimeAbilities = { mounts: true, user: 'any' };
const asUser = (uid: string, runAsUser: number): Pod => {
  const pod = podOf(uid);
  return { ...pod, spec: { ...pod.spec, securityContext: { runAsUser } } };
};
const main: Container = { name: 'c', image: 'i', resources: {} };

test('a pod without a range may not name ids of a pod that has one', async () => {
  const ranges = new UserRanges(userRangePool());
  await firstIdOf(ranges, 'a');
  const refused = /container "c" cannot run with id 65541: it belongs to another pod of this node/;
  assert.throws(() => ranges.name(asUser('b', 65_541), main, PROCESSES), refused);
  const debug = { ...main, securityContext: { runAsUser: 65_541 } };
  assert.throws(() => ranges.name(podOf('b'), debug, PROCESSES), refused);
  ranges.name(asUser('b', 65_541), main, { ...PROCESSES, isolation: true });
  ranges.release('a');
  ranges.name(asUser('b', 65_541), main, PROCESSES);
});

test('ids named by a pod without a range are not allocated to another pod until it is gone, also across a restart', async () => {
  const ranges = new UserRanges(userRangePool());
  ranges.name(asUser('a', 100_000), main, PROCESSES);
  assert.equal(await firstIdOf(ranges, 'b'), 131_072);
  ranges.release('a');
  assert.equal(await firstIdOf(ranges, 'c'), 65_536);
  const restarted = new UserRanges(userRangePool());
  const { config, ...sandbox } = sandboxOf('a', 0);
  const { userRange: _none, ...bare } = config;
  const user = { uid: 100_000, gid: 5 };
  const containers = [
    { id: 'c', config: { name: 'c', image: 'i', command: [], args: [], env: {}, restartCount: 0, user } },
  ].map((each) => ({ ...each, sandboxId: 's-a', state: 'running' as const, createdAt: 0 }));
  restarted.hold([{ ...sandbox, config: bare, containers }]);
  assert.equal(await firstIdOf(restarted, 'b'), 131_072);
});
