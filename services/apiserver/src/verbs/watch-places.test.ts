import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { MASTERS_GROUP, NODES_GROUP, SCHEDULER, type User } from '../authentication/identity.ts';
import {
  WATCHERS_MAX,
  WATCHERS_OF_EVERY_NODE_MAX,
  WATCHERS_OF_USER_MAX,
  WATCHERS_RESERVED,
  WATCHERS_RESERVED_FOR_CONTROL,
} from '../limits.ts';
import { startTestApi } from '../testing/fixture.ts';
import { WatchPlaces } from './watch-places.ts';

const named = (name: string, groups: readonly string[] = []): User => ({ name, groups });
const kubelet = (node: string): User => named(`system:node:${node}`, [NODES_GROUP]);
const account = (namespace: string, name: string): User => named(`system:serviceaccount:${namespace}:${name}`);
const ADMIN = named('root', [MASTERS_GROUP]);

/** Opens watches of this user until one is refused, or so many are open. */
function fill(places: WatchPlaces, user: User, count = WATCHERS_MAX + 1): number {
  for (let taken = 0; taken < count; taken++) {
    try {
      places.take(user);
    } catch (error) {
      assert.equal((error as { code?: number }).code, 429);
      return taken;
    }
  }
  return count;
}

for (const [who, user, share] of [
  ['a user', named('jane'), WATCHERS_OF_USER_MAX],
  ['a kubelet', kubelet('a'), WATCHERS_OF_USER_MAX],
  ['a name like that of a kubelet', named('system:node:a'), WATCHERS_OF_USER_MAX],
  ['a service account', account('shop', 'web'), WATCHERS_OF_USER_MAX],
  ['the proxy of all nodes', named('system:kube-proxy'), WATCHERS_OF_EVERY_NODE_MAX],
  ['an agent of all nodes', account('kube-system', 'cni'), WATCHERS_OF_EVERY_NODE_MAX],
  ['an administrator', ADMIN, WATCHERS_MAX],
  ['a system component', named(SCHEDULER), WATCHERS_MAX],
] as const) {
  test(`watches: ${who} may open ${share}`, () => {
    assert.equal(fill(new WatchPlaces(), user), share);
  });
}

test('watches: the accounts of a namespace share, and other users have their own places', () => {
  const places = new WatchPlaces();
  fill(places, account('shop', 'web'), WATCHERS_OF_USER_MAX - 1);
  const leave = places.take(account('shop', 'api'));
  assert.throws(() => places.take(account('shop', 'other')), { code: 429 });
  places.take(account('shop-2', 'web'));
  places.take(named('jane'));
  leave();
  places.take(account('shop', 'other'));
});

/** Opens watches of ever more users until one has no place at all. */
function fillWithMany(places: WatchPlaces, userOf: (n: number) => User): number {
  let open = 0;
  for (let n = 0, taken = 1; taken > 0; n++, open += taken) taken = fill(places, userOf(n));
  return open;
}

test('watches: however many users open theirs, kubelets have room, and beyond them control and administrators', () => {
  const places = new WatchPlaces();
  const ofUsers = WATCHERS_MAX - WATCHERS_RESERVED;
  assert.equal(
    fillWithMany(places, (n) => named(`user-${n}`)),
    ofUsers,
  );
  const ofKubelets = WATCHERS_RESERVED - WATCHERS_RESERVED_FOR_CONTROL;
  assert.equal(
    fillWithMany(places, (n) => kubelet(`node-${n}`)),
    ofKubelets,
  );
  places.take(named(SCHEDULER));
  assert.equal(fill(places, ADMIN), WATCHERS_RESERVED_FOR_CONTROL - 1);
});

test('watches: the API gives each a place of its user, refuses it with 429, and takes it back at the end', async (t) => {
  const taken = t.mock.method(WatchPlaces.prototype, 'take').mock;
  const api = await startTestApi();
  t.after(() => api.stop());
  const services = '/api/v1/services?watch=1&resourceVersion=1';
  const leaving = new AbortController();
  assert.equal((await api.call('GET', services, { as: 'node-a', signal: leaving.signal })).status, 200);
  const places: unknown = taken.calls[0]?.this;
  assert.ok(places instanceof WatchPlaces);
  assert.deepEqual(
    taken.calls.map((call) => call.arguments[0].name),
    ['system:node:a'],
  );
  fill(places, kubelet('a'), WATCHERS_OF_USER_MAX - 1);
  // A revision to come is waited for, but not by a watch that has no place.
  for (const url of [services, services.replace('resourceVersion=1', 'resourceVersion=1000000')]) {
    const refused = await api.call('GET', url, { as: 'node-a' });
    assert.deepEqual([refused.status, refused.at('reason')], [429, 'TooManyRequests']);
  }
  assert.equal((await api.call('GET', services, { as: 'node-b' })).status, 200);
  leaving.abort();
  assert.equal((await api.call('GET', services, { as: 'node-a' })).status, 200);
});
