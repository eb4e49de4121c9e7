import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, PodSecurityContext } from '@holdfast/api';
import type { RuntimeAbilities } from '../runtime/port.ts';
import {
  asksForMachine,
  chosenUser,
  FIRST_POD_USER,
  OWN_DEFAULT_USER,
  POD_USERS,
  podUserId,
  prefersOwnUsers,
} from './pod-users.ts';
import { FIRST_POD_ID, USER_RANGE_LENGTH } from './user-ranges.ts';
import { ownerOf, tokenFileMode, tokenUser } from './volume-owner.ts';

const PROCESSES: RuntimeAbilities = {
  mounts: true,
  user: 'any',
  ids: { users: new Map([[1_000, 'ada']]), groups: new Map([[6, 'disk']]) },
};
const CONTAINERS: RuntimeAbilities = { ...PROCESSES, isolation: true };
const RANGE = { firstId: FIRST_POD_ID, length: USER_RANGE_LENGTH };

const container = (securityContext?: Container['securityContext']): Container => ({
  name: 'c',
  image: 'i',
  resources: {},
  ...(securityContext === undefined ? {} : { securityContext }),
});

const podOf = (spec: Partial<Pod['spec']> = {}, uid = 'u1', namespace = 'n'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace, uid },
  spec: { containers: [container()], ...spec },
  status: {},
});

const CLAIM = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };
const plain = { abilities: PROCESSES, hasOwnUsers: false };
const within = { abilities: PROCESSES, hasOwnUsers: true };

test('a pod without a user gets a unique one, the same after every restart of the node', () => {
  const { uid, gid } = chosenUser(podOf(), container(), plain);
  assert.deepEqual([uid, gid], [podUserId(podOf()), podUserId(podOf())]);
  const ids = Array.from({ length: 1_000 }, (_, index) => podUserId(podOf({}, `u${index}`)));
  assert.equal(new Set(ids).size, 1_000);
  assert.ok(ids.every((id) => id >= FIRST_POD_USER && id < FIRST_POD_USER + POD_USERS));
});

test('pods with claims of one namespace share one user, so that the next one can read the data of the last one', () => {
  assert.equal(podUserId(podOf(CLAIM, 'u1')), podUserId(podOf(CLAIM, 'u2')));
  assert.notEqual(podUserId(podOf(CLAIM, 'u1')), podUserId(podOf(CLAIM, 'u1', 'other')));
});

test('ids of a pod spec are used inside its user namespace when it has one', () => {
  const naming: readonly PodSecurityContext[] = [
    { runAsUser: 0 },
    { runAsGroup: 6 },
    { fsGroup: 6 },
    { supplementalGroups: [6] },
  ];
  for (const securityContext of naming) assert.ok(prefersOwnUsers(podOf({ securityContext }), PROCESSES));
  assert.ok(prefersOwnUsers(podOf({ containers: [container({ runAsUser: 1 })] }), PROCESSES));
  assert.equal(prefersOwnUsers(podOf(), PROCESSES), false);
  assert.equal(prefersOwnUsers(podOf({ ...CLAIM, securityContext: { runAsUser: 0 } }), PROCESSES), false);
  assert.equal(prefersOwnUsers(podOf({ securityContext: { runAsUser: 0 } }), CONTAINERS), false);
  const inside = podOf({ securityContext: { fsGroup: 6 } });
  assert.deepEqual(chosenUser(inside, container(), within), {
    uid: OWN_DEFAULT_USER,
    gid: OWN_DEFAULT_USER,
    groups: [6],
  });
  assert.deepEqual(chosenUser(podOf({ securityContext: { runAsUser: 0 } }), container(), within), { uid: 0, gid: 0 });
  assert.equal(chosenUser(podOf({ hostUsers: false }), container(), within).uid, 0);
});

test('a pod with ids above every user namespace runs with ids of the machine', () => {
  for (const securityContext of [{ runAsUser: 100_000 }, { runAsUser: 5, fsGroup: USER_RANGE_LENGTH }])
    assert.equal(prefersOwnUsers(podOf({ securityContext }), PROCESSES), false);
  assert.ok(prefersOwnUsers(podOf({ securityContext: { runAsUser: USER_RANGE_LENGTH - 1 } }), PROCESSES));
  const far = podOf({ securityContext: { runAsUser: 100_000, runAsGroup: 100_000 } });
  assert.deepEqual(chosenUser(far, container(), plain), { uid: 100_000, gid: 100_000 });
});

test('a privileged ephemeral container alone runs as root: the other containers of its pod keep their users', () => {
  const debug = { ...container({ privileged: true }), name: 'debug' };
  const pod = podOf({ ephemeralContainers: [debug] });
  assert.equal(asksForMachine(pod), false);
  assert.equal(chosenUser(pod, container(), plain).uid, podUserId(pod));
  assert.deepEqual(chosenUser(pod, debug, plain), { uid: 0, gid: 0 });
});

test('without user namespaces, ids of root, of the machine and of other pods are refused', () => {
  const refused: readonly (readonly [PodSecurityContext, RegExp])[] = [
    [{ runAsUser: 0 }, /user 0: that is root of this machine/],
    [{ runAsUser: 1_000 }, /user 1000: that is ada of this machine/],
    [{ runAsUser: podUserId(podOf({}, 'victim')) }, /that is another pod of this machine/],
    [{ runAsGroup: 6 }, /group 6: that is disk/],
    [{ fsGroup: 6 }, /group 6: that is disk/],
    [{ supplementalGroups: [5, 0] }, /group 0: that is root/],
  ];
  for (const [securityContext, message] of refused)
    assert.throws(() => chosenUser(podOf({ securityContext }), container(), plain), message);
  assert.equal(chosenUser(podOf({ securityContext: { runAsUser: 4_321 } }), container(), plain).uid, 4_321);
});

test('a pod with host access runs as root of the machine, as elsewhere: baseline refuses such pods', () => {
  const machine = podOf({ volumes: [{ name: 'v', hostPath: { path: '/srv' } }] });
  assert.ok(asksForMachine(machine) && asksForMachine(podOf({ containers: [container({ privileged: true })] })));
  assert.deepEqual(chosenUser(machine, container(), plain), { uid: 0, gid: 0 });
  assert.equal(prefersOwnUsers(podOf({ ...machine.spec, securityContext: { runAsUser: 0 } }), PROCESSES), false);
});

test('files of a pod belong to the user chosen by the node', () => {
  const own = podUserId(podOf());
  assert.deepEqual(ownerOf(podOf(), PROCESSES, undefined), { uid: own, gid: own, group: false, isShifted: false });
  assert.equal(ownerOf(podOf(), CONTAINERS, undefined), undefined);
  const named = podOf({ securityContext: { runAsUser: 5 } });
  assert.equal(ownerOf(named, PROCESSES, RANGE)?.uid, RANGE.firstId);
});

test('a token is readable for the single user of the pod, or for its group; otherwise for all users in it', () => {
  const asUser = (runAsUser: number): Pod => podOf({ securityContext: { runAsUser } });
  assert.equal(tokenUser(asUser(5), CONTAINERS, undefined), 5);
  assert.equal(tokenUser(asUser(5), PROCESSES, RANGE), RANGE.firstId + 5);
  assert.equal(tokenUser(podOf(), PROCESSES, undefined), podUserId(podOf()));
  assert.equal(tokenUser(podOf(), CONTAINERS, undefined), undefined);
  const two = podOf({ containers: [container({ runAsUser: 5 }), container({ runAsUser: 6 })] });
  assert.equal(tokenUser(two, CONTAINERS, undefined), undefined);
  const owner = { uid: 0, gid: 7, group: true, isShifted: false };
  const modes = [
    tokenFileMode(0o644, undefined, 5),
    tokenFileMode(0o644, owner, undefined),
    tokenFileMode(0o644, undefined, undefined),
  ];
  assert.deepEqual(modes, [0o600, 0o640, 0o644]);
});
