import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { Json } from '@holdfast/machinery';
import { eventually } from '@holdfast/platform/contract';
import {
  type Answer,
  type Call,
  configMapBody,
  podBody,
  startTestApi,
  type TestApi,
  valueAt,
} from '../testing/fixture.ts';
import { readAuditPolicy } from './policy.ts';
import type { AuditSink } from './sink.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const SECRETS = '/api/v1/namespaces/default/secrets';

interface Event {
  readonly [field: string]: unknown;
  readonly stage: string;
  readonly auditID: string;
  readonly user: { readonly username?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Audited extends TestApi {
  readonly events: () => readonly Event[];
  /** Events of requests of users, by stage. */
  readonly stages: () => readonly string[];
}

const running: TestApi[] = [];
afterEach(async () => {
  for (const api of running.splice(0)) await api.stop();
});

function rules(...list: readonly Json[]): Json {
  return { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [...list] };
}

async function audited(policy: Json, sink: Partial<AuditSink> = {}): Promise<Audited> {
  const lines: string[] = [];
  const memory: AuditSink = {
    name: 'log',
    take: (event) => {
      lines.push(event);
      return undefined;
    },
    lost: () => 0,
    start: async () => {},
    stop: async () => {},
    ...sink,
  };
  const read = readAuditPolicy(policy);
  assert.deepEqual(read.mistakes, []);
  const api = await startTestApi({ audit: { policy: read.policy, sinks: [memory] } });
  running.push(api);
  const events = (): readonly Event[] => lines.map((line) => JSON.parse(line) as Event);
  return { ...api, events, stages: () => events().map(({ stage }) => stage) };
}

const METADATA = rules({ level: 'Metadata' });
const ALL = rules({ level: 'RequestResponse' });

/** The value at a dotted path of an event. */
const at = (event: Event | undefined, path: string): unknown => valueAt(event, path);

const create = (api: TestApi, name: string, call: Call = {}): Promise<Answer> =>
  api.call('POST', MAPS, { body: configMapBody(name, { key: 'value' }), ...call });

test('an event is one line, however the body was broken into lines', async () => {
  const lines: string[] = [];
  const take = (event: string): undefined => void lines.push(event);
  const api = await audited(ALL, { take });
  const forged = '{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete"}';
  for (const end of ['\r', '\n', '\r\n']) {
    const body = `{"metadata":{"name":"a"},"data":{},"forged":${end}${forged}${end}}`;
    await api.call('POST', MAPS, { body });
  }
  assert.deepEqual(
    lines.filter((line) => /[\r\n]/.test(line)),
    [],
  );
  assert.equal(lines.filter((line) => line.includes('"forged":{')).length, 3);
});

test('long YAML is not parsed a second time for its event', async () => {
  const api = await audited(ALL);
  const value = 'x'.repeat(100_000);
  const bodyOf = (name: string): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n  key: ${value}\n`;
  const headers = { 'content-type': 'application/yaml' };
  for (const [name, query] of [
    ['patient', ''],
    ['hasty', '?timeout=30s'],
  ] as const) {
    assert.equal((await api.call('POST', `${MAPS}${query}`, { body: bodyOf(name), headers })).status, 201);
    assert.equal(at(api.events().at(-1), 'requestObject.metadata.name'), name);
    assert.equal(at(api.events().at(-1), 'requestObject.data.key'), value);
  }
  const body = bodyOf('long');
  await api.call('POST', '/version', { body, headers });
  assert.equal(at(api.events().at(-1), 'requestURI'), '/version');
  assert.equal(at(api.events().at(-1), 'requestObject'), undefined);
});

test('an event contains the user, the request, the source and the outcome', async () => {
  const api = await audited(METADATA);
  const answer = await create(api, 'a', {
    headers: { 'user-agent': 'tester/1', 'x-forwarded-for': '10.1.2.3, nonsense' },
  });
  assert.equal(answer.status, 201);
  const [received, complete] = api.events();
  assert.deepEqual(api.stages(), ['RequestReceived', 'ResponseComplete']);
  const { auditID, requestReceivedTimestamp, stageTimestamp, ...rest } = complete ?? assert.fail();
  assert.deepEqual(rest, {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    stage: 'ResponseComplete',
    requestURI: '/api/v1/namespaces/default/configmaps',
    verb: 'create',
    user: { username: 'admin', uid: 'admin', groups: ['system:masters', 'system:authenticated'] },
    sourceIPs: ['10.1.2.3'],
    userAgent: 'tester/1',
    objectRef: { resource: 'configmaps', namespace: 'default', name: 'a', apiVersion: 'v1' },
    responseStatus: { metadata: {}, code: 201 },
    annotations: {
      'authorization.k8s.io/decision': 'allow',
      'authorization.k8s.io/reason': 'member of system:masters',
    },
  });
  assert.equal(auditID, answer.headers['audit-id']);
  assert.equal(received?.auditID, auditID);
  for (const time of [requestReceivedTimestamp, stageTimestamp]) assert.match(String(time), /T\d\d:\d\d:\d\d\.\d{6}Z$/);
});

test('a client-supplied id is kept up to a maximum length', async () => {
  const api = await audited(METADATA);
  const id = 'i'.repeat(100);
  const answer = await api.call('GET', MAPS, { headers: { 'audit-id': id, 'user-agent': 'u'.repeat(5_000) } });
  const [event] = api.events();
  assert.equal(event?.auditID, id.slice(0, 64));
  assert.equal(event?.['userAgent'], `${'u'.repeat(1_024)}...TRUNCATED`);
  assert.equal(answer.headers['audit-id'], undefined, 'whoever carries the answer repeats it');
});

test('levels define the detail, and the first matching rule decides the level', async () => {
  const api = await audited(
    rules(
      { level: 'None', users: ['nobody'] },
      { level: 'Metadata', resources: [{ group: '', resources: ['secrets'] }] },
      { level: 'Request', verbs: ['create'], omitStages: ['RequestReceived'] },
      {
        level: 'RequestResponse',
        resources: [{ group: '', resources: ['configmaps'] }],
        omitStages: ['RequestReceived'],
      },
    ),
  );
  await api.call('GET', MAPS, { as: 'nobody' });
  await api.call('GET', '/version');
  assert.deepEqual(api.events(), []);
  await api.call('POST', SECRETS, { body: { metadata: { name: 's' }, stringData: { password: 'hunter2' } } });
  assert.ok(!JSON.stringify(api.events()).includes('hunter2'));
  await create(api, 'a');
  await api.call('GET', `${MAPS}/a`);
  const [made, read] = api.events().slice(-2);
  assert.deepEqual(at(made, 'requestObject.data'), { key: 'value' });
  assert.equal(made?.['responseObject'], undefined);
  assert.deepEqual(at(read, 'responseObject.data'), { key: 'value' });
});

test('managedFields are omitted where the policy requests it', async () => {
  const api = await audited({ ...(rules({ level: 'RequestResponse' }) as object), omitManagedFields: true } as Json);
  await create(api, 'a');
  await api.call('GET', MAPS);
  assert.ok(!JSON.stringify(api.events()).includes('managedFields'));
  const plain = await audited(ALL);
  await create(plain, 'a');
  assert.ok(JSON.stringify(plain.events()).includes('managedFields'));
});

test('a refusal is logged with its Status, and the body of a forbidden request is dropped', async () => {
  const api = await audited(ALL);
  await create(api, 'a', { as: 'nobody' });
  const event = api.events().at(-1);
  assert.equal(event?.annotations?.['authorization.k8s.io/decision'], 'forbid');
  assert.equal(event?.['requestObject'], undefined);
  const told = ['status', 'reason', 'code'].map((field) => at(event, `responseStatus.${field}`));
  assert.deepEqual(told, ['Failure', 'Forbidden', 403]);
});

test('requests with unknown credentials are logged without the credentials', async () => {
  const api = await audited(METADATA);
  const answer = await api.call('GET', MAPS, { as: 'stranger' });
  assert.equal(answer.status, 401);
  const [event] = api.events();
  assert.equal(api.events().length, 1);
  assert.deepEqual([event?.stage, event?.user], ['ResponseStarted', {}]);
  const message = 'Authentication failed, attempted: bearer';
  assert.deepEqual(event?.['responseStatus'], { metadata: {}, status: 'Failure', message, code: 401 });
  assert.ok(!JSON.stringify(event).includes('stranger'));
});

test('an audit event of impersonation has both user names', async () => {
  const api = await audited(METADATA);
  await api.call('GET', MAPS, { headers: { 'impersonate-user': 'jane' } });
  const event = api.events().at(-1);
  assert.equal(event?.user.username, 'admin');
  assert.equal(at(event, 'impersonatedUser.username'), 'jane');
});

test('a watch is logged when it starts and when it ends', async () => {
  const api = await audited(METADATA);
  await create(api, 'a');
  await api.watch(`${MAPS}?watch=1&resourceVersion=0`, 1);
  assert.deepEqual(api.stages().slice(-3), ['RequestReceived', 'ResponseStarted', 'ResponseComplete']);
});

test('a server fault is logged as a panic', async () => {
  const api = await audited(METADATA);
  api.store.write = async () => {
    throw new TypeError('planted');
  };
  assert.equal((await create(api, 'a')).status, 500);
  const event = api.events().at(-1);
  const message = "APIServer panic'd: planted";
  assert.equal(event?.stage, 'Panic');
  assert.deepEqual(event?.['responseStatus'], {
    metadata: {},
    status: 'Failure',
    message,
    reason: 'InternalError',
    code: 500,
  });
});

test('objects above the size limit are omitted, and the event says so', async () => {
  const api = await audited(ALL);
  await api.call('POST', MAPS, { body: configMapBody('a', { key: 'x'.repeat(600_000) }) });
  const event = api.events().at(-1);
  assert.equal(event?.annotations?.['audit.k8s.io/truncated'], 'true');
  assert.deepEqual([event?.['requestObject'], event?.['responseObject']], [undefined, undefined]);
});

test('Pod Security violations at the audit level are recorded', async () => {
  const api = await audited(METADATA);
  const labels = { 'pod-security.kubernetes.io/audit': 'restricted', 'pod-security.kubernetes.io/enforce': 'baseline' };
  await api.call('PATCH', '/api/v1/namespaces/default', { body: { metadata: { labels } } });
  assert.equal((await api.call('POST', '/api/v1/namespaces/default/pods', { body: podBody('p') })).status, 201);
  const noted = api.events().at(-1)?.annotations ?? {};
  assert.equal(noted['pod-security.kubernetes.io/enforce-policy'], 'baseline:latest');
  assert.match(
    noted['pod-security.kubernetes.io/audit-violations'] ?? '',
    /^would violate PodSecurity "restricted:latest": allow/,
  );
});

test('a policy records its annotations and the refusals of its audit action', async () => {
  const api = await audited(METADATA);
  const post = (plural: string, name: string, spec: object): Promise<Answer> =>
    api.call('POST', `/apis/admissionregistration.k8s.io/v1/${plural}`, { body: { metadata: { name }, spec } });
  await post('validatingadmissionpolicies', 'p', {
    matchConstraints: {
      resourceRules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    },
    validations: [{ expression: "object.metadata.name != 'a'", message: 'not a' }],
    auditAnnotations: [
      { key: 'name', valueExpression: "'it is ' + object.metadata.name" },
      { key: 'nothing', valueExpression: 'null' },
    ],
  });
  await post('validatingadmissionpolicybindings', 'b', { policyName: 'p', validationActions: ['Audit'] });
  await eventually(async () => {
    await api.call('DELETE', `${MAPS}/a`);
    await create(api, 'a');
    return api.events().at(-1)?.annotations?.['p/name'] === 'it is a';
  }, 'the policy is in force');
  const noted = api.events().at(-1)?.annotations ?? {};
  assert.equal(noted['p/nothing'], undefined);
  assert.deepEqual(JSON.parse(noted['validation.policy.admission.k8s.io/validation_failure'] ?? ''), [
    { message: 'not a', policy: 'p', binding: 'b', expressionIndex: 0, validationActions: ['Audit'] },
  ]);
});

test('a request whose first event is lost is refused in strict mode', async () => {
  const api = await audited(METADATA, { take: () => Promise.resolve(false), lost: () => 3 });
  const answer = await create(api, 'a');
  assert.deepEqual(
    [answer.status, answer.at('message')],
    [500, 'Internal error occurred: failed to store audit event'],
  );
});

test('a server without a policy emits no events and sets no id', async () => {
  const api = await startTestApi();
  running.push(api);
  const answer = await create(api, 'a');
  assert.equal(answer.headers['audit-id'], undefined);
  assert.ok(!String((await api.call('GET', '/metrics')).body).includes('apiserver_audit'));
});

test('all errors of a policy file are reported', () => {
  const { mistakes } = readAuditPolicy({
    apiVersion: 'audit.k8s.io/v1beta1',
    kind: 'Policy',
    omitStages: ['Never'],
    more: 1,
    rules: [
      { level: 'Some' },
      { level: 'None', nonResourceURLs: ['healthz', '/a*b'], namespaces: ['x'] },
      { level: 'None', resources: [{ group: 'apps/v1', resourceNames: ['a'] }, 3], users: 'admin' },
    ],
  });
  assert.deepEqual(mistakes, [
    'apiVersion: must be audit.k8s.io/v1',
    'more: unknown field',
    'omitStages: must be of RequestReceived, ResponseStarted, ResponseComplete, Panic, not "Never"',
    'rules[0].level: must be one of None, Metadata, Request, RequestResponse, not "Some"',
    'rules[1].nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs',
    'rules[1].nonResourceURLs[0]: must begin with a \'/\' character, not "healthz"',
    "rules[1].nonResourceURLs[1]: wildcards '*' must be the final character of the path",
    'rules[2].users: must be a list',
    'rules[2].resources[0].group: must be a group without its version, not "apps/v1"',
    'rules[2].resources[0].resourceNames: using resourceNames requires at least one resource',
    'rules[2].resources[1]: must be an object',
  ]);
  assert.deepEqual(readAuditPolicy(rules()).mistakes, ['rules: must hold at least one rule']);
});

test('a read of the past of a resource is audited as the policy says for the resource', async () => {
  const policy = rules({
    level: 'Metadata',
    resources: [{ group: '', resources: ['secrets'] }],
    omitStages: ['RequestReceived'],
  });
  const api = await audited(policy);
  for (const what of ['objects', 'changes']) {
    await api.call('GET', `/holdfast.io/history/v1/${what}${SECRETS}?revision=1`);
    const event = api.events().at(-1);
    assert.deepEqual([at(event, 'objectRef.resource'), event?.['verb']], ['secrets', 'list'], what);
    assert.match(String(event?.['requestURI']), /^\/holdfast\.io\/history\/v1\//);
  }
  const count = api.events().length;
  await api.call('GET', `/holdfast.io/history/v1/objects${MAPS}`);
  await api.call('GET', '/holdfast.io/history/v1');
  assert.equal(api.events().length, count);
  await api.call('GET', '/holdfast.io/history/v1/changes');
  assert.deepEqual([api.events().length, api.events().at(-1)?.['level']], [count + 1, 'Metadata']);
});

test('a list or watch of a single name is audited as a request for that object, also of the past', async () => {
  const secret = { group: '', resources: ['secrets'], resourceNames: ['root'] };
  const api = await audited(rules({ level: 'Metadata', resources: [secret], omitStages: ['RequestReceived'] }));
  for (const path of [SECRETS, '/api/v1/secrets', `/holdfast.io/history/v1/objects${SECRETS}`]) {
    const before = api.events().length;
    await api.call('GET', `${path}?fieldSelector=metadata.name%3Droot`);
    const [event] = api.events().slice(before);
    assert.deepEqual([at(event, 'objectRef.name'), event?.['verb']], ['root', 'list'], path);
    for (const other of ['%3Dother', '%21%3Droot', '%3D', '%3D..%2Froot']) {
      await api.call('GET', `${path}?fieldSelector=metadata.name${other}`);
      assert.equal(api.events().length, before + 1, other);
    }
  }
  await api.call('GET', `${SECRETS}?watch=1&resourceVersion=none&fieldSelector=metadata.name%3Droot`);
  const event = api.events().at(-1);
  assert.deepEqual([at(event, 'objectRef.name'), event?.['verb']], ['root', 'watch']);
});
