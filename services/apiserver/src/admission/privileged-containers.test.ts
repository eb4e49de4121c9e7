import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { readApiServerConfig } from '../config.ts';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';

const POLICY = 'Forbidden: disallowed by cluster policy';
const labels = { app: 'a' };
const meta = { name: 'a', namespace: 'default' };
const container = (privileged: boolean, name = 'c') => ({ name, image: 'i', securityContext: { privileged } });
const spec = { containers: [container(false), container(true, 'd')] };
const template = { metadata: { labels }, spec };
const selector = { matchLabels: labels };
const job = { template: { spec: { ...spec, restartPolicy: 'Never' } } };

async function startApi(t: TestContext, allowPrivileged?: boolean): Promise<TestApi> {
  const api = await startTestApi(allowPrivileged === undefined ? {} : { allowPrivileged });
  t.after(() => api.stop());
  return api;
}

const seen = (answer: Answer): unknown => [answer.status, answer.at('message')];
const refusal = (kind: string, field: string): unknown => [
  422,
  `${kind} "a" is invalid: ${field}.securityContext.privileged: ${POLICY}`,
];

/** Each kind that has pods or a template, with the path of the spec. */
const KINDS: readonly { readonly url: string; readonly kind: string; readonly body: object; readonly path: string }[] =
  [
    { url: '/api/v1/namespaces/default/pods', kind: 'Pod', body: { spec }, path: 'spec' },
    {
      url: '/api/v1/namespaces/default/podtemplates',
      kind: 'PodTemplate',
      body: { template },
      path: 'template.spec',
    },
    {
      url: '/api/v1/namespaces/default/replicationcontrollers',
      kind: 'ReplicationController',
      body: { spec: { selector: labels, template } },
      path: 'spec.template.spec',
    },
    ...['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet'].map((kind) => ({
      url: `/apis/apps/v1/namespaces/default/${kind.toLowerCase()}s`,
      kind,
      body: { spec: { selector, template, ...(kind === 'StatefulSet' ? { serviceName: 's' } : {}) } },
      path: 'spec.template.spec',
    })),
    { url: '/apis/batch/v1/namespaces/default/jobs', kind: 'Job', body: { spec: job }, path: 'spec.template.spec' },
    {
      url: '/apis/batch/v1/namespaces/default/cronjobs',
      kind: 'CronJob',
      body: { spec: { schedule: '* * * * *', jobTemplate: { spec: job } } },
      path: 'spec.jobTemplate.spec.template.spec',
    },
  ];

for (const { url, kind, body, path } of KINDS) {
  test(`[POD-30] --allow-privileged=false refuses a ${kind} with a privileged container`, async (t) => {
    const [open, closed] = [await startApi(t), await startApi(t, false)];
    const group = url.startsWith('/apis/') ? `.${url.split('/')[2]}` : '';
    const sent = { body: { metadata: meta, ...body } };
    const refused = await closed.call('POST', url, sent);
    assert.deepEqual(seen(refused), refusal(`${kind}${group}`, `${path}.containers[1]`));
    assert.deepEqual(refused.at('details.causes.0'), {
      reason: 'FieldValueForbidden',
      message: POLICY,
      field: `${path}.containers[1].securityContext.privileged`,
    });
    assert.equal((await open.call('POST', url, sent)).status, 201, 'privileged containers are allowed by default');
  });
}

test('[POD-30] --allow-privileged=false is asked whenever containers are added, and lets older pods be changed', async (t) => {
  const before = await startApi(t);
  const pods = '/api/v1/namespaces/default/pods';
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  await before.call('POST', pods, { body: { metadata: meta, spec } });
  await before.call('POST', deployments, { body: { metadata: meta, spec: { selector, template } } });
  const api = await startTestApi({ store: before.store, allowPrivileged: false });
  t.after(() => api.server.stop());
  const labelled = await api.call('PATCH', `${pods}/a`, { body: { metadata: { labels } } });
  assert.equal(labelled.status, 200);
  const ephemeralContainers = [container(true, 'debug')];
  const attached = await api.call('PATCH', `${pods}/a/ephemeralcontainers`, {
    body: { spec: { ephemeralContainers } },
  });
  assert.equal(attached.status, 422);
  assert.match(attached.textAt('message'), /spec\.ephemeralContainers\[0\]\.securityContext\.privileged: Forbidden/);
  const refused = refusal('Deployment.apps', 'spec.template.spec.containers[1]');
  const annotated = await api.call('PATCH', `${deployments}/a`, { body: { metadata: { annotations: labels } } });
  assert.deepEqual(seen(annotated), refused);
  const scaled = await api.call('PATCH', `${deployments}/a/scale`, { body: { spec: { replicas: 2 } } });
  assert.deepEqual(seen(scaled), refused);
  const reported = await api.call('PATCH', `${deployments}/a/status`, { body: { status: { replicas: 1 } } });
  assert.equal(reported.status, 200, 'the status of an older Deployment is still reported');
});

test('[POD-30] the apiserver takes --allow-privileged=false', () => {
  const files = ['--tls-cert-file=c', '--tls-key-file=k', '--token-file=t'];
  const read = (...more: string[]) => readApiServerConfig({ argv: [...files, ...more], env: {} })?.allowPrivileged;
  assert.deepEqual([read(), read('--allow-privileged=false'), read('--allow-privileged=true')], [true, false, true]);
});
