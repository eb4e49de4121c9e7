import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { CONFIG_MAPS, patchAnswer, startWebhookWorld, type WebhookWorld } from '../testing/webhooks.ts';

let world: WebhookWorld;

beforeEach(async () => {
  world = await startWebhookWorld();
});
afterEach(() => world.stop());

describe('mutating webhooks', () => {
  test('change the stored object, in the order of their names', async () => {
    await world.hook('mutating', 'b');
    await world.hook('mutating', 'a');
    world.respond = ({ request }) =>
      request.object?.data?.['first'] === undefined
        ? patchAnswer({ op: 'add', path: '/data/first', value: 'yes' })
        : patchAnswer({ op: 'add', path: '/data/second', value: request.object.data['first'] });
    const made = await world.create('m', { x: '1' });
    assert.equal(made.status, 201);
    assert.deepEqual(made.at('data'), { x: '1', first: 'yes', second: 'yes' });
    assert.deepEqual((await world.api.call('GET', `${CONFIG_MAPS}/m`)).at('data'), {
      x: '1',
      first: 'yes',
      second: 'yes',
    });
  });

  test('may write neither unknown fields nor managedFields', async () => {
    await world.hook('mutating', 'odd');
    world.respond = () =>
      patchAnswer(
        { op: 'add', path: '/unknown', value: 1 },
        { op: 'replace', path: '/metadata/managedFields', value: [] },
        { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
      );
    const made = await world.create('m', { x: '1' });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal(made.at('unknown'), undefined);
    assert.deepEqual(made.at('metadata.labels'), { a: 'b' });
    assert.equal(Array.isArray(made.at('metadata.managedFields')), true);
  });

  for (const [path, value] of [
    ['/kind', 'Secret'],
    ['/apiVersion', 'v2'],
    ['/metadata/namespace', 'kube-system'],
  ]) {
    test(`may not change ${path}`, async () => {
      await world.hook('mutating', 'moves');
      world.respond = () => patchAnswer({ op: 'replace', path, value });
      const refused = await world.create('m', { x: '1' });
      assert.equal(refused.status, 500);
      assert.match(refused.textAt('message'), /the patch changes apiVersion, kind or namespace$/);
    });
  }

  test('do not block the garbage collector, whatever else they write', async () => {
    await world.api.call('POST', CONFIG_MAPS, { body: { metadata: { name: 'held', finalizers: ['example.com/f'] } } });
    await world.hook('mutating', 'notes');
    world.respond = () => patchAnswer({ op: 'add', path: '/metadata/annotations', value: { seen: 'yes' } });
    const released = await world.api.call('PATCH', `${CONFIG_MAPS}/held`, {
      as: 'manager',
      body: { metadata: { finalizers: null } },
    });
    assert.equal(released.status, 200, JSON.stringify(released.body));
  });

  test('return objects that are validated like those of clients', async () => {
    await world.hook('mutating', 'bad');
    world.respond = () => patchAnswer({ op: 'add', path: '/data', value: { 'not a key': '1' } });
    assert.equal((await world.create('m')).status, 422);
  });

  const PATCHES: readonly (readonly [string, object, RegExp])[] = [
    [
      'without a type',
      { allowed: true, patch: 'W10=' },
      /webhook returned response\.patch but not response\.patchType/,
    ],
    ['of another type', { allowed: true, patch: 'W10=', patchType: 'Merge' }, /invalid response\.patchType of "Merge"/],
    [
      'that is no JSON',
      { allowed: true, patch: '!!!!', patchType: 'JSONPatch' },
      /response\.patch is not base64 of a JSON patch/,
    ],
    ['that does not apply', patchAnswer({ op: 'remove', path: '/missing' }), /received invalid webhook response/],
  ];
  for (const [what, answer, message] of PATCHES) {
    test(`a patch ${what} is an error`, async () => {
      await world.hook('mutating', 'patch');
      world.respond = () => answer;
      const refused = await world.create('m');
      assert.equal(refused.status, 500, JSON.stringify(refused.body));
      assert.match(refused.textAt('message'), message);
    });
  }

  test('are called again after others changed the object, if they request it', async () => {
    await world.hook('mutating', 'a', { reinvocationPolicy: 'IfNeeded' });
    await world.hook('mutating', 'b');
    world.respond = ({ request }) =>
      patchAnswer({ op: 'add', path: `/data/n${Object.keys(request.object?.data ?? {}).length}`, value: 'x' });
    const made = await world.create('m', { x: '1' });
    assert.deepEqual(Object.keys(made.at('data') as object).sort(), ['n1', 'n2', 'n3', 'x']);
    assert.equal(world.reviews.length, 3);
  });

  test('that did not match in the first round are not called in the second', async () => {
    await world.hook('mutating', 'a', {
      reinvocationPolicy: 'IfNeeded',
      objectSelector: { matchLabels: { marked: 'yes' } },
    });
    await world.hook('mutating', 'b');
    world.respond = () => patchAnswer({ op: 'add', path: '/metadata/labels', value: { marked: 'yes' } });
    const made = await world.create('m', { x: '1' });
    assert.deepEqual(made.at('metadata.labels'), { marked: 'yes' });
    assert.equal(world.reviews.length, 1);
  });

  test('that failed and were ignored are called again like all others', async () => {
    await world.hook('mutating', 'a', { reinvocationPolicy: 'IfNeeded', failurePolicy: 'Ignore' });
    await world.hook('mutating', 'b');
    const answers: unknown[] = ['no JSON', patchAnswer({ op: 'add', path: '/data/n', value: 'x' }), { allowed: true }];
    world.respond = () => answers[world.reviews.length - 1];
    assert.equal((await world.create('m', { x: '1' })).status, 201);
    assert.equal(world.reviews.length, 3);
  });
});
