import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { CORALS, coral, coralDefinition, define, definitionUrl, until } from '../testing/custom.ts';
import { podBody } from '../testing/fixture.ts';
import {
  ADMISSION,
  CONFIG_MAPS,
  type Review,
  RULES,
  startWebhookWorld,
  type WebhookWorld,
} from '../testing/webhooks.ts';

let world: WebhookWorld;

beforeEach(async () => {
  world = await startWebhookWorld();
});
afterEach(() => world.stop());

describe('validating webhooks', () => {
  test('get the operation, the user and the object', async () => {
    await world.hook('validating', 'all');
    await world.create('a', { x: '1' });
    await world.api.call('PATCH', `${CONFIG_MAPS}/a`, { body: { data: { x: '2' } } });
    await world.api.call('DELETE', `${CONFIG_MAPS}/a`);
    const told = world.reviews.map(({ request }) => [request['operation'], request['name'], request['namespace']]);
    assert.deepEqual(told, [
      ['CREATE', 'a', 'default'],
      ['UPDATE', 'a', 'default'],
      ['DELETE', 'a', 'default'],
    ]);
    const [made, changed, gone] = world.reviews.map(({ request }) => request) as [
      Review['request'],
      Review['request'],
      Review['request'],
    ];
    assert.deepEqual(made['kind'], { group: '', version: 'v1', kind: 'ConfigMap' });
    assert.deepEqual(made['resource'], { group: '', version: 'v1', resource: 'configmaps' });
    assert.equal((made['userInfo'] as { username: string }).username, 'admin');
    assert.equal((made.object as { kind?: string }).kind, 'ConfigMap');
    assert.equal(made['oldObject'], null);
    assert.deepEqual([changed.object?.data, (changed['oldObject'] as { data: object }).data], [{ x: '2' }, { x: '1' }]);
    assert.deepEqual([gone.object, (gone['oldObject'] as { data: object }).data], [null, { x: '2' }]);
  });

  test('refuse with their own status, or without explanation', async () => {
    await world.hook('validating', 'deny');
    world.respond = () => ({ allowed: false, status: { code: 418, message: 'no tea', reason: 'Tea' } });
    const refused = await world.create('a');
    assert.equal(refused.status, 418);
    assert.equal(refused.at('message'), 'admission webhook "deny.example.com" denied the request: no tea');
    world.respond = () => ({ allowed: false });
    const silent = await world.create('a');
    assert.equal(silent.status, 400);
    assert.equal(silent.at('message'), 'admission webhook "deny.example.com" denied the request without explanation');
  });

  test('return messages that are truncated to a limit', async () => {
    await world.hook('validating', 'verbose');
    const long = 'x'.repeat(1_000_000);
    world.respond = () => ({ allowed: false, status: { message: long, reason: long, details: { name: long } } });
    const refused = await world.create('a');
    assert.ok(JSON.stringify(refused.body).length < 11_000);
    assert.match(refused.textAt('message'), /^admission webhook "verbose.example.com" denied the request: x+\.\.\.$/);
    assert.equal(refused.at('details'), undefined);
    world.respond = () => ({ allowed: true, uid: long });
    const wrong = await world.create('a');
    assert.equal(wrong.status, 500);
    assert.ok(JSON.stringify(wrong.body).length < 25_000);
  });

  test('are not called when the server deletes the objects of a removed definition', async () => {
    await define(world.api, coralDefinition({}));
    await world.api.call('POST', CORALS, { body: coral('a') });
    const rules = [
      { operations: ['DELETE'], apiGroups: ['reef.example.com'], apiVersions: ['v1'], resources: ['corals'] },
    ];
    await world.hook('validating', 'deny', { rules });
    world.respond = () => ({ allowed: false });
    assert.equal((await world.api.call('DELETE', `${CORALS}/a`)).status, 400);
    assert.equal(world.reviews.length, 1);
    const url = definitionUrl('corals.reef.example.com');
    await world.api.call('DELETE', url);
    await until(async () => (await world.api.call('GET', url)).status === 404);
    assert.equal(world.reviews.length, 1);
  });

  test('that are unreachable refuse or are ignored, as their policy defines', async () => {
    const dead = { clientConfig: { url: 'https://127.0.0.1:1/hook' }, timeoutSeconds: 5 };
    await world.hook('validating', 'dead', dead);
    const refused = await world.create('a');
    assert.equal(refused.status, 500);
    assert.equal(
      refused.at('message'),
      'Internal error occurred: failed calling webhook "dead.example.com": failed to call webhook: Post "https://127.0.0.1:1/hook?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused',
    );
    await world.api.call('DELETE', `${ADMISSION}/validatingwebhookconfigurations/dead`);
    await world.hook('validating', 'ignored', { ...dead, failurePolicy: 'Ignore' });
    assert.equal((await world.create('a')).status, 201);
  });

  test('that time out delay only their own request', async () => {
    await world.hook('validating', 'slow', { timeoutSeconds: 1 });
    world.respond = () => undefined;
    const late = await world.create('a');
    assert.equal(late.status, 500);
    assert.match(
      late.textAt('message'),
      /failed to call webhook: Post "https:[^"]*\?timeout=1s": context deadline exceeded$/,
    );
  });

  test('with an untrusted certificate are not trusted', async () => {
    await world.hook('validating', 'untrusted', { clientConfig: { url: world.url } });
    const refused = await world.create('a');
    assert.equal(refused.status, 500);
    assert.match(
      refused.textAt('message'),
      /tls: failed to verify certificate: x509: certificate signed by unknown authority$/,
    );
    assert.equal(world.reviews.length, 0);
  });

  const ANSWERS: readonly (readonly [string, unknown, RegExp])[] = [
    ['no JSON', 'hello', /received invalid webhook response: the answer is not valid JSON/],
    ['a list', '[]', /the answer is not a JSON object/],
    [
      'another kind',
      '{"kind":"Pod","apiVersion":"v1"}',
      /expected webhook response of admission\.k8s\.io\/v1, Kind=AdmissionReview, got v1, Kind=Pod/,
    ],
    ['no response', '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', /webhook response was absent/],
    ['another uid', { uid: 'x', allowed: true }, /expected response\.uid="[^"]+", got "x"/],
    ['a verdict that is none', { allowed: 'yes' }, /response\.allowed is not a boolean/],
  ];
  for (const [what, answer, message] of ANSWERS) {
    test(`an invalid answer: ${what}`, async () => {
      await world.hook('validating', 'odd');
      world.respond = () => answer;
      const refused = await world.create('a');
      assert.equal(refused.status, 500);
      assert.match(refused.textAt('message'), message);
    });
  }

  test('are selected by conditions, selectors and scope', async () => {
    await world.hook('validating', 'condition', {
      matchConditions: [{ name: 'only-x', expression: "has(object.data) && 'x' in object.data" }],
    });
    await world.hook('validating', 'labelled', { objectSelector: { matchLabels: { a: 'b' } } });
    await world.hook('validating', 'elsewhere', { namespaceSelector: { matchLabels: { zone: 'z' } } });
    await world.hook('validating', 'cluster', { rules: [{ ...RULES[0], scope: 'Cluster' }] });
    await world.create('plain');
    assert.equal(world.reviews.length, 0);
    await world.create('x', { x: '1' });
    assert.equal(world.reviews.length, 1);
  });

  test('a condition that fails refuses, unless another condition skips the webhook', async () => {
    const conditions = [{ name: 'fails', expression: 'object.data.missing == "1"' }];
    await world.hook('validating', 'failing', { matchConditions: conditions });
    const refused = await world.create('a');
    assert.equal(refused.status, 403);
    assert.match(refused.textAt('message'), /configmaps "a" is forbidden: no such key: /);
    await world.api.call('DELETE', `${ADMISSION}/validatingwebhookconfigurations/failing`);
    await world.hook('validating', 'excluded', {
      matchConditions: [...conditions, { name: 'never', expression: 'false' }],
    });
    assert.equal((await world.create('a')).status, 201);
  });

  test('conditions may call the authorizer', async () => {
    const expression = "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()";
    await world.hook('validating', 'authorized', { matchConditions: [{ name: 'may', expression }] });
    await world.create('a');
    assert.equal(world.reviews.length, 1);
  });

  test('a dry run calls only webhooks without side effects', async () => {
    await world.hook('validating', 'some', { sideEffects: 'NoneOnDryRun' });
    assert.equal((await world.create('a', {}, '?dryRun=All')).status, 201);
    assert.equal(world.reviews[0]?.request['dryRun'], true);
  });

  test('send warnings that reach the client', async () => {
    await world.hook('validating', 'warns');
    world.respond = () => ({ allowed: true, warnings: ['mind the gap'] });
    assert.match((await world.create('a')).headers['warning'] ?? '', /mind the gap/);
  });

  test('an absent object matches no object selector', async () => {
    await world.api.call('POST', CONFIG_MAPS, { body: { metadata: { name: 'skipped', labels: { skip: '1' } } } });
    await world.hook('validating', 'others', {
      objectSelector: { matchExpressions: [{ key: 'skip', operator: 'DoesNotExist' }] },
    });
    assert.equal((await world.api.call('DELETE', `${CONFIG_MAPS}/skipped`)).status, 200);
    assert.equal(world.reviews.length, 0);
  });

  test('connections to pods can be refused', async () => {
    const pods = [{ operations: ['CONNECT'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/attach'] }];
    await world.hook('validating', 'attach', { rules: pods });
    await world.api.call('POST', '/api/v1/namespaces/default/pods', { body: podBody('p') });
    world.respond = () => ({ allowed: false, status: { message: 'no attaching' } });
    const refused = await world.api.call('POST', '/api/v1/namespaces/default/pods/p/attach?container=c&stdin=true');
    assert.equal(refused.at('message'), 'admission webhook "attach.example.com" denied the request: no attaching');
    const { request } = world.reviews[0] as Review;
    assert.deepEqual([request['operation'], request['subResource'], request['name']], ['CONNECT', 'attach', 'p']);
    assert.deepEqual(request.object, { kind: 'PodAttachOptions', apiVersion: 'v1', stdin: true, container: 'c' });
  });

  test('[CVE-2020-8561] cannot redirect the server: redirects are not followed', async () => {
    await world.hook('validating', 'redirecting');
    world.redirectTo = `${world.url}/elsewhere`;
    const refused = await world.create('a');
    assert.equal(refused.status, 500);
    assert.match(refused.textAt('message'), /the server rejected our request for an unknown reason \(status 307\)/);
    assert.equal(world.reviews.length, 1);
  });

  test('that answer without end are cut off', async () => {
    await world.hook('validating', 'endless');
    world.respond = () => ' '.repeat(3 * 1024 * 1024 + 1);
    assert.match((await world.create('a')).textAt('message'), /the answer has more than 3145728 bytes/);
  });

  test('[CVE-2021-25735] see the stored fields of a Node, not the requested ones', async () => {
    await world.hook('validating', 'nodes', { rules: [{ ...RULES[0], resources: ['nodes', 'nodes/status'] }] });
    const labels = { zone: 'a' };
    const spec = { unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule' }] };
    await world.api.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'n', labels }, spec } });
    const node = await world.api.call('GET', '/api/v1/nodes/n');
    const wanted = { ...(node.body as object), spec: {}, metadata: { name: 'n', labels: { zone: 'b' } } };
    assert.equal((await world.api.call('PUT', '/api/v1/nodes/n', { body: wanted })).status, 200);
    await world.api.call('PATCH', '/api/v1/nodes/n/status', { body: { status: { capacity: { cpu: '9' } } } });
    const told = world.reviews.slice(1).map(({ request }) => request['oldObject'] as Record<string, object>);
    assert.deepEqual(
      told.map((old) => [Reflect.get(old['metadata'] ?? {}, 'labels'), old['spec']]),
      [
        [labels, node.at('spec')],
        [{ zone: 'b' }, {}],
      ],
    );
    assert.equal(Reflect.get(told[1]?.['status'] ?? {}, 'capacity'), undefined);
  });

  test('cannot lock users out of their configuration', async () => {
    await world.hook('validating', 'everything', {
      rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }],
    });
    world.respond = () => ({ allowed: false });
    assert.equal((await world.create('a')).status, 400);
    assert.equal(
      (await world.api.call('DELETE', `${ADMISSION}/validatingwebhookconfigurations/everything`)).status,
      200,
    );
  });

  test('a condition that does not compile is refused with its position', async () => {
    const refused = await world.api.call('POST', `${ADMISSION}/validatingwebhookconfigurations`, {
      body: {
        metadata: { name: 'bad' },
        webhooks: [
          {
            name: 'bad.example.com',
            clientConfig: { url: world.url },
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
            matchConditions: [{ name: 'c', expression: 'object.' }],
          },
        ],
      },
    });
    assert.equal(refused.status, 422);
    assert.match(
      refused.textAt('message'),
      /webhooks\[0\]\.matchConditions\[0\]\.expression: Invalid value: "object\.": compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '\.'/,
    );
  });

  test('are retried once when they closed a kept-alive connection', async () => {
    await world.hook('validating', 'all');
    assert.equal((await world.create('a')).status, 201);
    world.dropsReusedConnections = true;
    const made = await world.create('b');
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal(world.drops, 1);
    assert.equal(world.reviews.length, 2);
  });

  test('that close the connection of a first request are not retried', async () => {
    await world.hook('validating', 'all');
    world.dropsAll = true;
    const refused = await world.create('a');
    assert.match(refused.textAt('message'), /failed to call webhook: Post "https:[^"]*": EOF$/);
    assert.equal(world.drops, 1);
  });
});

test('a deeply nested answer or patch is an invalid answer', async () => {
  await world.hook('mutating', 'm');
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const wrong = /received invalid webhook response: the answer is nested more than 200 levels deep$/;
  const patch = Buffer.from(`[{"op":"add","path":"/data/x","value":${deep}}]`).toString('base64');
  world.respond = () => ({ allowed: true, patchType: 'JSONPatch', patch });
  assert.match((await world.create('a')).textAt('message'), wrong);
  world.respond = ({ request: { uid } }) =>
    `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"${uid}","allowed":false,"status":{"details":{"causes":${deep}}}}}`;
  assert.match((await world.create('a')).textAt('message'), wrong);
});

test('webhook calls are counted under the metric names of Kubernetes', async () => {
  world.respond = ({ request }) =>
    (request['name'] as string) === 'refused' ? { allowed: false, status: { code: 418 } } : { allowed: true };
  await world.hook('validating', 'v');
  await world.hook('mutating', 'm', {
    failurePolicy: 'Ignore',
    timeoutSeconds: 1,
    clientConfig: { url: `${world.url}x`, caBundle: '' },
  });
  await world.create('allowed');
  await world.create('refused');
  const metrics = String((await world.api.call('GET', '/metrics')).body);
  const name = 'name="v.example.com",type="validating",operation="CREATE"';
  for (const line of [
    `apiserver_admission_webhook_admission_duration_seconds_count{${name},rejected="true"} 1`,
    `apiserver_admission_webhook_request_total{${name},code="418",rejected="true"} 1`,
    `apiserver_admission_webhook_request_total{${name},code="200",rejected="false"} 1`,
    `apiserver_admission_webhook_rejection_count{${name},error_type="no_error",rejection_code="418"} 1`,
    'apiserver_admission_webhook_fail_open_count{name="m.example.com",type="admit"} 2',
  ])
    assert.ok(
      metrics.includes(line),
      `${line}\n${metrics
        .split('\n')
        .filter((each) => each.includes('webhook'))
        .join('\n')}`,
    );
});
