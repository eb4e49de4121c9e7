import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:https';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type Answer, configMapBody, podBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { tls } from '../testing/https.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';

interface Review {
  readonly request: Record<string, unknown> & {
    readonly uid: string;
    readonly object: { data?: Record<string, string> } | null;
  };
}
type Respond = (review: Review) => unknown;

let api: TestApi;
let server: Server;
let url: string;
let respond: Respond;
let redirectTo: string | undefined;
let reviews: Review[];

beforeEach(async () => {
  api = await startTestApi();
  reviews = [];
  redirectTo = undefined;
  respond = () => ({ allowed: true });
  server = createServer({ cert: tls.certificate, key: tls.key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
      reviews.push(review);
      if (redirectTo !== undefined) {
        response.writeHead(307, { location: redirectTo }).end();
        return;
      }
      const answer = respond(review);
      if (answer === undefined) return;
      const body =
        typeof answer === 'string'
          ? answer
          : JSON.stringify({
              kind: 'AdmissionReview',
              apiVersion: 'admission.k8s.io/v1',
              response: { uid: review.request.uid, ...(answer as object) },
            });
      response.setHeader('content-type', 'application/json');
      response.end(body);
    });
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const address = server.address();
  url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/hook`;
});
afterEach(async () => {
  await api.stop();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

const RULES = [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }];
const CA = Buffer.from(tls.certificate).toString('base64');

async function hook(kind: 'validating' | 'mutating', name: string, webhook: object = {}): Promise<void> {
  const created = await api.call('POST', `${ADMISSION}/${kind}webhookconfigurations`, {
    body: {
      metadata: { name },
      webhooks: [
        {
          name: `${name}.example.com`,
          clientConfig: { url, caBundle: CA },
          rules: RULES,
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          ...webhook,
        },
      ],
    },
  });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  await api.call('GET', `${ADMISSION}/${kind}webhookconfigurations`);
}

const create = (name: string, data: Record<string, string> = {}, query = ''): Promise<Answer> =>
  api.call('POST', `${CONFIG_MAPS}${query}`, { body: configMapBody(name, data) });

const patchAnswer = (...operations: readonly object[]): object => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

describe('validating webhooks', () => {
  test('are told what is done, by whom, and to what', async () => {
    await hook('validating', 'all');
    await create('a', { x: '1' });
    await api.call('PATCH', `${CONFIG_MAPS}/a`, { body: { data: { x: '2' } } });
    await api.call('DELETE', `${CONFIG_MAPS}/a`);
    const told = reviews.map(({ request }) => [request['operation'], request['name'], request['namespace']]);
    assert.deepEqual(told, [
      ['CREATE', 'a', 'default'],
      ['UPDATE', 'a', 'default'],
      ['DELETE', 'a', 'default'],
    ]);
    const [made, changed, gone] = reviews.map(({ request }) => request) as [
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
    await hook('validating', 'deny');
    respond = () => ({ allowed: false, status: { code: 418, message: 'no tea', reason: 'Tea' } });
    const refused = await create('a');
    assert.equal(refused.status, 418);
    assert.equal(refused.at('message'), 'admission webhook "deny.example.com" denied the request: no tea');
    respond = () => ({ allowed: false });
    const silent = await create('a');
    assert.equal(silent.status, 400);
    assert.equal(silent.at('message'), 'admission webhook "deny.example.com" denied the request without explanation');
  });

  test('that cannot be reached refuse or are left out, as their policy says', async () => {
    const dead = { clientConfig: { url: 'https://127.0.0.1:1/hook' }, timeoutSeconds: 5 };
    await hook('validating', 'dead', dead);
    const refused = await create('a');
    assert.equal(refused.status, 500);
    assert.equal(
      refused.at('message'),
      'Internal error occurred: failed calling webhook "dead.example.com": failed to call webhook: Post "https://127.0.0.1:1/hook?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused',
    );
    await api.call('DELETE', `${ADMISSION}/validatingwebhookconfigurations/dead`);
    await hook('validating', 'ignored', { ...dead, failurePolicy: 'Ignore' });
    assert.equal((await create('a')).status, 201);
  });

  test('that do not answer in time cost only the request', async () => {
    await hook('validating', 'slow', { timeoutSeconds: 1 });
    respond = () => undefined;
    const late = await create('a');
    assert.equal(late.status, 500);
    assert.match(
      late.textAt('message'),
      /failed to call webhook: Post "https:[^"]*\?timeout=1s": context deadline exceeded$/,
    );
  });

  test('whose certificate does not fit are not believed', async () => {
    await hook('validating', 'untrusted', { clientConfig: { url } });
    const refused = await create('a');
    assert.equal(refused.status, 500);
    assert.match(
      refused.textAt('message'),
      /tls: failed to verify certificate: x509: certificate signed by unknown authority$/,
    );
    assert.equal(reviews.length, 0);
  });

  const ANSWERS: readonly (readonly [string, unknown, RegExp])[] = [
    ['no JSON', 'hello', /received invalid webhook response: the answer is no JSON/],
    ['a list', '[]', /the answer is no JSON object/],
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
    test(`an answer that is wrong: ${what}`, async () => {
      await hook('validating', 'odd');
      respond = () => answer;
      const refused = await create('a');
      assert.equal(refused.status, 500);
      assert.match(refused.textAt('message'), message);
    });
  }

  test('are chosen by conditions, selectors and scope', async () => {
    await hook('validating', 'condition', {
      matchConditions: [{ name: 'only-x', expression: "has(object.data) && 'x' in object.data" }],
    });
    await hook('validating', 'labelled', { objectSelector: { matchLabels: { a: 'b' } } });
    await hook('validating', 'elsewhere', { namespaceSelector: { matchLabels: { zone: 'z' } } });
    await hook('validating', 'cluster', { rules: [{ ...RULES[0], scope: 'Cluster' }] });
    await create('plain');
    assert.equal(reviews.length, 0);
    await create('x', { x: '1' });
    assert.equal(reviews.length, 1);
  });

  test('a condition that fails refuses, unless another says that nobody is asked', async () => {
    const conditions = [{ name: 'fails', expression: 'object.data.missing == "1"' }];
    await hook('validating', 'failing', { matchConditions: conditions });
    const refused = await create('a');
    assert.equal(refused.status, 403);
    assert.match(refused.textAt('message'), /configmaps "a" is forbidden: no such key: /);
    await api.call('DELETE', `${ADMISSION}/validatingwebhookconfigurations/failing`);
    await hook('validating', 'excluded', { matchConditions: [...conditions, { name: 'never', expression: 'false' }] });
    assert.equal((await create('a')).status, 201);
  });

  test('conditions may ask the authorizer', async () => {
    const expression = "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()";
    await hook('validating', 'authorized', { matchConditions: [{ name: 'may', expression }] });
    await create('a');
    assert.equal(reviews.length, 1);
  });

  test('a dry run asks only those without side effects', async () => {
    await hook('validating', 'some', { sideEffects: 'NoneOnDryRun' });
    assert.equal((await create('a', {}, '?dryRun=All')).status, 201);
    assert.equal(reviews[0]?.request['dryRun'], true);
  });

  test('their warnings reach the client', async () => {
    await hook('validating', 'warns');
    respond = () => ({ allowed: true, warnings: ['mind the gap'] });
    assert.match((await create('a')).headers['warning'] ?? '', /mind the gap/);
  });

  test('what is absent matches no object selector', async () => {
    await api.call('POST', CONFIG_MAPS, { body: { metadata: { name: 'skipped', labels: { skip: '1' } } } });
    await hook('validating', 'others', {
      objectSelector: { matchExpressions: [{ key: 'skip', operator: 'DoesNotExist' }] },
    });
    assert.equal((await api.call('DELETE', `${CONFIG_MAPS}/skipped`)).status, 200);
    assert.equal(reviews.length, 0);
  });

  test('connections to pods can be refused', async () => {
    const pods = [{ operations: ['CONNECT'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/attach'] }];
    await hook('validating', 'attach', { rules: pods });
    await api.call('POST', '/api/v1/namespaces/default/pods', { body: podBody('p') });
    respond = () => ({ allowed: false, status: { message: 'no attaching' } });
    const refused = await api.call('POST', '/api/v1/namespaces/default/pods/p/attach?container=c&stdin=true');
    assert.equal(refused.at('message'), 'admission webhook "attach.example.com" denied the request: no attaching');
    const { request } = reviews[0] as Review;
    assert.deepEqual([request['operation'], request['subResource'], request['name']], ['CONNECT', 'attach', 'p']);
    assert.deepEqual(request.object, { kind: 'PodAttachOptions', apiVersion: 'v1', stdin: true, container: 'c' });
  });

  test('[CVE-2020-8561] lead the server nowhere else: what they redirect to is not asked', async () => {
    await hook('validating', 'redirecting');
    redirectTo = `${url}/elsewhere`;
    const refused = await create('a');
    assert.equal(refused.status, 500);
    assert.match(refused.textAt('message'), /the server rejected our request for an unknown reason \(status 307\)/);
    assert.equal(reviews.length, 1);
  });

  test('that answer without an end are cut off', async () => {
    await hook('validating', 'endless');
    respond = () => ' '.repeat(3 * 1024 * 1024 + 1);
    assert.match((await create('a')).textAt('message'), /the answer has more than 3145728 bytes/);
  });

  test('[CVE-2021-25735] see the fields of a Node as they are stored, not as they are to be', async () => {
    await hook('validating', 'nodes', { rules: [{ ...RULES[0], resources: ['nodes', 'nodes/status'] }] });
    const labels = { zone: 'a' };
    const spec = { unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule' }] };
    await api.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'n', labels }, spec } });
    const node = await api.call('GET', '/api/v1/nodes/n');
    const wanted = { ...(node.body as object), spec: {}, metadata: { name: 'n', labels: { zone: 'b' } } };
    assert.equal((await api.call('PUT', '/api/v1/nodes/n', { body: wanted })).status, 200);
    await api.call('PATCH', '/api/v1/nodes/n/status', { body: { status: { capacity: { cpu: '9' } } } });
    const told = reviews.slice(1).map(({ request }) => request['oldObject'] as Record<string, object>);
    assert.deepEqual(
      told.map((old) => [Reflect.get(old['metadata'] ?? {}, 'labels'), old['spec']]),
      [
        [labels, node.at('spec')],
        [{ zone: 'b' }, {}],
      ],
    );
    assert.equal(Reflect.get(told[1]?.['status'] ?? {}, 'capacity'), undefined);
  });

  test('nobody is locked out of their configuration', async () => {
    await hook('validating', 'everything', {
      rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }],
    });
    respond = () => ({ allowed: false });
    assert.equal((await create('a')).status, 400);
    assert.equal((await api.call('DELETE', `${ADMISSION}/validatingwebhookconfigurations/everything`)).status, 200);
  });

  test('a condition that does not compile is refused with its place', async () => {
    const refused = await api.call('POST', `${ADMISSION}/validatingwebhookconfigurations`, {
      body: {
        metadata: { name: 'bad' },
        webhooks: [
          {
            name: 'bad.example.com',
            clientConfig: { url },
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
});

describe('mutating webhooks', () => {
  test('change what is stored, in the order of their names', async () => {
    await hook('mutating', 'b');
    await hook('mutating', 'a');
    respond = ({ request }) =>
      request.object?.data?.['first'] === undefined
        ? patchAnswer({ op: 'add', path: '/data/first', value: 'yes' })
        : patchAnswer({ op: 'add', path: '/data/second', value: request.object.data['first'] });
    const made = await create('m', { x: '1' });
    assert.equal(made.status, 201);
    assert.deepEqual(made.at('data'), { x: '1', first: 'yes', second: 'yes' });
    assert.deepEqual((await api.call('GET', `${CONFIG_MAPS}/m`)).at('data'), { x: '1', first: 'yes', second: 'yes' });
  });

  test('may not write fields that nobody knows, nor who owns what', async () => {
    await hook('mutating', 'odd');
    respond = () =>
      patchAnswer(
        { op: 'add', path: '/unknown', value: 1 },
        { op: 'replace', path: '/metadata/managedFields', value: [] },
        { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
      );
    const made = await create('m', { x: '1' });
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
      await hook('mutating', 'moves');
      respond = () => patchAnswer({ op: 'replace', path, value });
      const refused = await create('m', { x: '1' });
      assert.equal(refused.status, 500);
      assert.match(refused.textAt('message'), /the patch changes apiVersion, kind or namespace$/);
    });
  }

  test('do not stop the garbage collector, whatever else they write', async () => {
    await api.call('POST', CONFIG_MAPS, { body: { metadata: { name: 'held', finalizers: ['example.com/f'] } } });
    await hook('mutating', 'notes');
    respond = () => patchAnswer({ op: 'add', path: '/metadata/annotations', value: { seen: 'yes' } });
    const released = await api.call('PATCH', `${CONFIG_MAPS}/held`, {
      as: 'manager',
      body: { metadata: { finalizers: null } },
    });
    assert.equal(released.status, 200, JSON.stringify(released.body));
  });

  test('what they make is validated like what clients send', async () => {
    await hook('mutating', 'bad');
    respond = () => patchAnswer({ op: 'add', path: '/data', value: { 'not a key': '1' } });
    assert.equal((await create('m')).status, 422);
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
      await hook('mutating', 'patch');
      respond = () => answer;
      const refused = await create('m');
      assert.equal(refused.status, 500, JSON.stringify(refused.body));
      assert.match(refused.textAt('message'), message);
    });
  }

  test('are called again after others changed the object, if they want', async () => {
    await hook('mutating', 'a', { reinvocationPolicy: 'IfNeeded' });
    await hook('mutating', 'b');
    respond = ({ request }) =>
      patchAnswer({ op: 'add', path: `/data/n${Object.keys(request.object?.data ?? {}).length}`, value: 'x' });
    const made = await create('m', { x: '1' });
    assert.deepEqual(Object.keys(made.at('data') as object).sort(), ['n1', 'n2', 'n3', 'x']);
    assert.equal(reviews.length, 3);
  });
});
