import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Fields, GoClient, JSON_PATCH, must, STRATEGIC_PATCH } from '../support/go-client.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';
import { walkCluster } from '../support/walked-cluster.ts';
import {
  CONFIG_MAPS,
  configMap,
  configurationsOf,
  createNamespace,
  type HookType,
  WalkedWebhooks,
  WebhookWalk,
} from '../support/walked-webhooks.ts';

/** The conformance tests "AdmissionWebhook" for built-in kinds, call by call. They run side by side, as the upstream binary runs them. */

let kubeconfig: string;
let client: GoClient;
let webhooks: WalkedWebhooks;
const { attempt } = createKubectl(() => kubeconfig);

walkCluster(['--memory'], async (cluster) => {
  ({ client, kubeconfig } = cluster);
  webhooks = await WalkedWebhooks.deploy(client);
});

const PODS = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
const DISALLOWED = { 'webhook-e2e-test': 'webhook-disallow' };
const FIRST = { 'mutation-start': 'yes' };
const SECOND = { ...FIRST, 'mutation-stage-1': 'yes' };
const onCreate = (rule: Fields): Fields => ({ operations: ['CREATE'], ...rule });

const pod = (name: string, container: string, labels: Fields = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels },
  spec: { containers: [{ name: container, image: 'registry.k8s.io/pause:3.10' }] },
});

let count = 0;
/** The data of a ConfigMap as created, and the status of the creation. The ConfigMap is deleted again. */
async function tryConfigMap(walk: WebhookWalk, data: Fields): Promise<{ status: number; data: unknown }> {
  const name = `tried-${count++}`;
  const answer = await client.typed('POST', walk.configMaps, configMap(name, data));
  if (answer.status !== 201) {
    assert.match(answer.message, /denied/);
    return { status: answer.status, data: undefined };
  }
  await must(200, client.typed('DELETE', `${walk.configMaps}/${name}`));
  return { status: 201, data: answer.at('data') };
}

const isDenied = (walk: WebhookWalk, denied: boolean): Promise<unknown> =>
  waitFor(
    `a ConfigMap is ${denied ? '' : 'not '}denied`,
    async () => ((await tryConfigMap(walk, DISALLOWED)).status !== 201) === denied,
  );
const isMutated = (walk: WebhookWalk, mutated: boolean): Promise<unknown> =>
  waitFor(`a ConfigMap is ${mutated ? '' : 'not '}mutated`, async () => {
    const { status, data } = await tryConfigMap(walk, FIRST);
    assert.equal(status, 201);
    return ((data as Fields)['mutation-stage-1'] === 'yes') === mutated;
  });

describe('AdmissionWebhook', { concurrency: 8 }, () => {
  test('discovery documents contain the kinds of webhooks', async () => {
    const groups = (await must(200, client.typed('GET', '/apis'))).at('groups') as {
      name: string;
      versions: { version: string }[];
    }[];
    const group = groups.find(({ name }) => name === 'admissionregistration.k8s.io');
    assert.ok(group?.versions.some(({ version }) => version === 'v1'));
    const alone = await must(200, client.typed('GET', '/apis/admissionregistration.k8s.io'));
    assert.equal(alone.at('name'), 'admissionregistration.k8s.io');
    const version = await must(200, client.typed('GET', '/apis/admissionregistration.k8s.io/v1'));
    assert.equal(version.at('groupVersion'), 'admissionregistration.k8s.io/v1');
    const names = (version.at('resources') as { name: string }[]).map(({ name }) => name);
    assert.ok(names.includes('mutatingwebhookconfigurations') && names.includes('validatingwebhookconfigurations'));
  });

  test('pods and ConfigMaps are denied, a hanging webhook ends at its deadline', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'deny-create');
    const own = { namespaceSelector: { matchLabels: { [walk.name]: 'true' } } };
    await walk.register(
      'Validating',
      walk.hook('deny-unwanted-pod-container-name-and-label.k8s.io', '/pods', onCreate(PODS)),
      walk.denyConfigMaps(),
      walk.hook('fail-open.k8s.io', '/configmaps', onCreate(CONFIG_MAPS), {
        ...own,
        clientConfig: walk.unreachable('/configmaps'),
        failurePolicy: 'Ignore',
      }),
    );
    const pods = `/api/v1/namespaces/${walk.name}/pods`;
    const denied = await client.typed('POST', pods, pod('disallowed-pod', 'webhook-disallow', DISALLOWED));
    assert.match(denied.message, /the pod contains unwanted label; the pod contains unwanted container name/);

    const hung = await client.typed(
      'POST',
      pods,
      pod('hanging-pod', 'wait-forever', { 'webhook-e2e-test': 'wait-forever' }),
    );
    assert.match(hung.message, /webhook.*deadline/);
    await must(404, client.typed('GET', `${pods}/hanging-pod`));

    const wanted = /the configmap contains unwanted key and value/;
    assert.match(
      (await client.typed('POST', walk.configMaps, configMap('disallowed-configmap', DISALLOWED))).message,
      wanted,
    );
    await must(201, client.typed('POST', walk.configMaps, configMap('allowed-configmap', { admit: 'this' })));
    const allowed = `${walk.configMaps}/allowed-configmap`;
    const { object } = await must(200, client.typed('GET', allowed));
    const changed = { ...object, data: { ...(object['data'] as Fields), ...DISALLOWED } };
    assert.match((await client.typed('PUT', allowed, changed)).message, wanted);
    assert.match((await client.patch(allowed, STRATEGIC_PATCH, { data: DISALLOWED })).message, wanted);

    await createNamespace(client, 'exempted', { 'skip-webhook-admission': 'yes', [walk.name]: 'true' });
    await must(
      201,
      client.typed('POST', '/api/v1/namespaces/exempted/configmaps', configMap('disallowed-configmap', DISALLOWED)),
    );
  });

  test('attaching to a pod is denied', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'deny-attach');
    const rule = { operations: ['CONNECT'], ...PODS, resources: ['pods/attach'] };
    await walk.register('Validating', walk.hook('deny-attaching-pod.k8s.io', '/pods/attach', rule));
    const pods = `/api/v1/namespaces/${walk.name}/pods`;
    await must(201, client.typed('POST', pods, pod('to-be-attached-pod', 'container1')));
    await waitFor(
      'the pod runs',
      async () => (await client.typed('GET', `${pods}/to-be-attached-pod`)).at('status.phase') === 'Running',
    );
    const attached = await attempt('attach', `--namespace=${walk.name}`, 'to-be-attached-pod', '-i', '-c=container1');
    assert.notEqual(attached.code, 0);
    assert.match(attached.stderr, /attaching to pod 'to-be-attached-pod' is not allowed/);
  });

  test('a webhook with failurePolicy Fail denies without exception', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'fail-closed');
    const matchExpressions = [{ key: 'fail-closed-webhook', operator: 'In', values: ['yes'] }];
    await walk.register(
      'Validating',
      walk.hook('fail-closed.k8s.io', '/configmaps', onCreate(CONFIG_MAPS), {
        clientConfig: walk.unreachable('/configmaps'),
        failurePolicy: 'Fail',
        namespaceSelector: { matchLabels: { [walk.name]: 'true' }, matchExpressions },
      }),
    );
    await createNamespace(client, 'fail-closed-inside', { 'fail-closed-webhook': 'yes', [walk.name]: 'true' });
    const failed = await client.typed('POST', '/api/v1/namespaces/fail-closed-inside/configmaps', configMap('foo'));
    assert.deepEqual([failed.status, failed.at('reason')], [500, 'InternalError']);
  });

  test('ConfigMaps are mutated in two stages', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'mutate-configmap');
    await walk.register('Mutating', walk.mutateConfigMaps(1), walk.mutateConfigMaps(2));
    const made = await must(201, client.typed('POST', walk.configMaps, configMap('to-be-mutated', FIRST)));
    assert.deepEqual(made.at('data'), { ...SECOND, 'mutation-stage-2': 'yes' });
  });

  test('a pod gets defaults after its mutation', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'mutate-pod');
    await walk.register('Mutating', walk.hook('adding-init-container.k8s.io', '/mutating-pods', onCreate(PODS)));
    const made = await must(
      201,
      client.typed('POST', `/api/v1/namespaces/${walk.name}/pods`, pod('webhook-to-be-mutated', 'example')),
    );
    const containers = made.at('spec.initContainers') as readonly Fields[];
    assert.deepEqual(
      containers.map(({ name, terminationMessagePolicy }) => [name, terminationMessagePolicy]),
      [['webhook-added-init-container', 'File']],
    );
  });

  test('webhook configurations are neither mutated nor protected from deletion', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'blocking');
    const configurations = {
      apiGroups: ['admissionregistration.k8s.io'],
      apiVersions: ['*'],
      resources: ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'],
    };
    const failing = { failurePolicy: 'Fail' };
    await walk.register(
      'Validating',
      walk.hook(
        'deny-webhook-configuration-deletions.k8s.io',
        '/always-deny',
        { operations: ['DELETE'], ...configurations },
        failing,
      ),
    );
    await walk.register(
      'Mutating',
      walk.hook('add-label-to-webhook-configurations.k8s.io', '/add-label', onCreate(configurations), failing),
    );
    for (const type of ['Validating', 'Mutating'] satisfies HookType[]) {
      const dummy = walk.hook(
        `dummy-${type.toLowerCase()}-webhook.k8s.io`,
        '',
        onCreate({ ...CONFIG_MAPS, resources: ['invalid'] }),
        { clientConfig: walk.unreachable(''), failurePolicy: 'Ignore' },
      );
      const made = await must(201, walk.create(type, [dummy], { name: 'dummy' }));
      assert.equal(made.at('metadata.labels'), undefined);
      await walk.inForce();
      await must(200, client.typed('DELETE', configurationsOf(type, 'dummy')));
    }
  });

  test('the timeout of a webhook is enforced', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'slow');
    const slow = (more: Fields): Fields =>
      walk.hook('allow-configmap-with-delay-webhook.k8s.io', '/always-allow-delay-5s', onCreate(CONFIG_MAPS), more);
    const create = () => client.typed('POST', walk.configMaps, configMap('e2e-test-slow-webhook-configmap'));
    await walk.register('Validating', slow({ failurePolicy: 'Fail', timeoutSeconds: 1 }));
    const failed = await create();
    assert.match(failed.message, /context deadline exceeded|timeout/);
    assert.ok(failed.message.includes('/always-allow-delay-5s?timeout=1s'), failed.message);
    await walk.unregister('Validating');
    for (const waits of [
      { failurePolicy: 'Ignore', timeoutSeconds: 1 },
      { failurePolicy: 'Fail', timeoutSeconds: 10 },
      { failurePolicy: 'Fail' },
    ]) {
      await walk.register('Validating', slow(waits));
      await must(201, create());
      await must(200, client.typed('DELETE', `${walk.configMaps}/e2e-test-slow-webhook-configmap`));
      await walk.unregister('Validating');
    }
  });

  test('a validating webhook follows updates and patches of its rules', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'change-validating');
    await walk.register('Validating', walk.denyConfigMaps());
    await isDenied(walk, true);
    await restrictToUpdates(walk, 'Validating');
    await isDenied(walk, false);
    await backToCreations(walk, 'Validating');
    await isDenied(walk, true);
  });

  test('a mutating webhook follows updates and patches of its rules', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'change-mutating');
    await walk.register('Mutating', walk.mutateConfigMaps(1));
    await restrictToUpdates(walk, 'Mutating');
    await isMutated(walk, false);
    await backToCreations(walk, 'Mutating');
    await isMutated(walk, true);
  });

  for (const type of ['Validating', 'Mutating'] satisfies HookType[]) {
    test(`${type.toLowerCase()} webhooks are listed and deleted as a collection`, async () => {
      const walk = await WebhookWalk.begin(webhooks, `list-${type.toLowerCase()}`);
      const hook = type === 'Validating' ? walk.denyConfigMaps() : walk.mutateConfigMaps(1);
      const labels = { 'e2e-list-test-uuid': walk.name };
      for (let index = 0; index < 10; index++)
        await must(201, walk.create(type, [hook], { name: `${walk.name}-${index}`, labels }));
      const selected = `${configurationsOf(type)}?labelSelector=e2e-list-test-uuid%3D${walk.name}`;
      assert.equal((await must(200, client.typed('GET', selected))).names.length, 10);
      await walk.inForce();
      const holds = type === 'Validating' ? isDenied : isMutated;
      await holds(walk, true);
      await must(200, client.typed('DELETE', selected));
      await holds(walk, false);
    });

    test(`match conditions of ${type.toLowerCase()} webhooks are stored, updated, and refused when they are not valid expressions`, async () => {
      const walk = await WebhookWalk.begin(webhooks, `conditions-${type.toLowerCase()}`);
      const path = type === 'Validating' ? '/always-deny' : '/mutating-configmaps';
      const first = { name: 'expression-1', expression: "object.metadata.namespace == 'production'" };
      const second = { name: 'expression-2', expression: "object.metadata.namespace == 'staging'" };
      const hookOf = (...matchConditions: readonly Fields[]): Fields =>
        walk.hook('webhook-with-match-conditions.k8s.io', path, onCreate(CONFIG_MAPS), {
          matchPolicy: 'Equivalent',
          matchConditions,
        });
      const refused = await walk.create(type, [
        hookOf({ name: 'invalid-expression-1', expression: '... [] bad expression' }),
      ]);
      assert.equal(refused.status, 422);
      assert.match(refused.message, /compilation failed/);
      await must(201, walk.create(type, [hookOf(first)]));
      const url = configurationsOf(type, walk.name);
      const { object } = await must(200, client.typed('GET', url));
      const hooks = object['webhooks'] as readonly Fields[];
      assert.deepEqual(hooks[0]?.['matchConditions'], [first]);
      const updated = hooks.map((hook, index) => (index === 0 ? { ...hook, matchConditions: [first, second] } : hook));
      await must(200, client.typed('PUT', url, { ...object, webhooks: updated }));
      assert.deepEqual((await must(200, client.typed('GET', url))).at('webhooks.0.matchConditions'), [first, second]);
    });
  }

  test('a match condition excludes ConfigMaps with one name', async () => {
    const walk = await WebhookWalk.begin(webhooks, 'skip-me');
    const matchConditions = [{ name: 'skip-me', expression: "object.metadata.name != 'skip-me'" }];
    await walk.register('Mutating', walk.mutateConfigMaps(1, { matchConditions }));
    const mutated = await must(201, client.typed('POST', walk.configMaps, configMap('any', FIRST)));
    assert.deepEqual(mutated.at('data'), SECOND);
    const skipped = await must(201, client.typed('POST', walk.configMaps, configMap('skip-me', FIRST)));
    assert.deepEqual(skipped.at('data'), FIRST);
  });
});

async function restrictToUpdates(walk: WebhookWalk, type: HookType): Promise<void> {
  const url = configurationsOf(type, walk.name);
  const { object } = await must(200, client.typed('GET', url));
  const webhooks = (object['webhooks'] as readonly { rules: readonly Fields[] }[]).map((hook, index) =>
    index === 0 ? { ...hook, rules: [{ ...hook.rules[0], operations: ['UPDATE'] }] } : hook,
  );
  await must(200, client.typed('PUT', url, { ...object, webhooks }));
}

const backToCreations = (walk: WebhookWalk, type: HookType): Promise<unknown> =>
  must(
    200,
    client.patch(configurationsOf(type, walk.name), JSON_PATCH, [
      { op: 'replace', path: '/webhooks/0/rules/0/operations', value: ['CREATE'] },
    ]),
  );
