import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { podBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { createPodSecurity } from './plugins/pod-security.ts';
import { detailsText, violations } from './pod-security/evaluate.ts';
import type { AdmissionDeps, AdmissionRequest } from './port.ts';

const latest = Number.POSITIVE_INFINITY;
const container = (securityContext: object, extra: object = {}) => ({
  name: 'c',
  image: 'i',
  resources: {},
  securityContext,
  ...extra,
});
const SAFE = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};
const said = (level: 'baseline' | 'restricted', spec: object, minor = latest, metadata: object = {}): string =>
  detailsText(violations({ metadata, spec: { containers: [container(SAFE)], ...spec } }, { level, minor }));

describe('controls of the baseline level', () => {
  const cases: readonly [string, object, string][] = [
    ['host namespaces', { hostNetwork: true, hostPID: true }, 'host namespaces (hostNetwork=true, hostPID=true)'],
    [
      'host paths',
      {
        volumes: [
          { name: 'a', hostPath: { path: '/' } },
          { name: 'b', hostPath: { path: '/' } },
        ],
      },
      'hostPath volumes (volumes "a", "b")',
    ],
    [
      'host ports',
      { containers: [container({}, { ports: [{ containerPort: 1, hostPort: 80 }] })] },
      'hostPort (container "c" uses hostPort 80)',
    ],
    [
      'privileged',
      { containers: [container({ privileged: true }), { ...container({ privileged: true }), name: 'd' }] },
      'privileged (containers "c", "d" must not set securityContext.privileged=true)',
    ],
    [
      'capabilities',
      { containers: [container({ capabilities: { add: ['NET_RAW', 'KILL', 'BPF'] } })] },
      'non-default capabilities (container "c" must not include "BPF", "NET_RAW" in securityContext.capabilities.add)',
    ],
    [
      'proc mount',
      { containers: [container({ procMount: 'Unmasked' })] },
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'SELinux',
      { securityContext: { seLinuxOptions: { type: 'x', user: 'u', role: 'r' } } },
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "x"; user may not be set; role may not be set)',
    ],
    [
      'seccomp',
      {
        securityContext: { seccompProfile: { type: 'Unconfined' } },
        containers: [container({ seccompProfile: { type: 'Unconfined' } })],
      },
      'seccompProfile (pod and container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      'AppArmor',
      { securityContext: { appArmorProfile: { type: 'Unconfined' } } },
      'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
    ],
    [
      'sysctls',
      {
        securityContext: {
          sysctls: [
            { name: 'net.ipv4.tcp_rmem', value: '1' },
            { name: 'a', value: '1' },
          ],
        },
      },
      'forbidden sysctls (a)',
    ],
    [
      'Windows host processes',
      { securityContext: { windowsOptions: { hostProcess: true } } },
      'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
    ],
  ];
  for (const [name, spec, expected] of cases) test(name, () => assert.equal(said('baseline', spec), expected));

  test('an older version has the controls of that version', () => {
    const spec = { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '1' }] } };
    assert.equal(said('baseline', spec, 31), 'forbidden sysctls (net.ipv4.tcp_rmem)');
    assert.equal(said('baseline', spec, 32), '');
  });
});

describe('controls of the restricted level', () => {
  test('a pod without security settings gets all violations in order', () => {
    assert.equal(
      said('restricted', { containers: [container({})] }),
      'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    );
    assert.equal(said('restricted', {}), '');
  });

  test('restricted controls replace the weaker baseline controls in messages', () => {
    const spec = {
      securityContext: { runAsUser: 0 },
      volumes: [{ name: 'h', hostPath: { path: '/' } }],
      containers: [container({ ...SAFE, capabilities: { drop: ['ALL'], add: ['BPF'] } })],
    };
    assert.equal(
      said('restricted', spec),
      'unrestricted capabilities (container "c" must not include "BPF" in securityContext.capabilities.add), restricted volume types (volume "h" uses restricted volume type "hostPath"), runAsUser=0 (pod must not set runAsUser=0)',
    );
    assert.match(said('restricted', spec, 21), /^non-default capabilities .*, restricted volume types \(.*\)$/);
  });

  test('[POD-12] pods for Windows do not need fields without meaning on Windows', () => {
    const spec = { os: { name: 'windows' }, containers: [container({ runAsNonRoot: true })] };
    assert.equal(said('restricted', spec), '');
    assert.match(said('restricted', spec, 24), /^allowPrivilegeEscalation != false /);
    assert.match(said('restricted', { ...spec, os: { name: 'linux' } }), /^allowPrivilegeEscalation != false /);
  });
});

describe('namespaces', () => {
  let api: TestApi;
  beforeEach(async () => {
    api = await startTestApi();
  });
  afterEach(() => api.stop());

  const label = (labels: Record<string, string | null>) => {
    const full = Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value]);
    const body = { metadata: { labels: Object.fromEntries(full) } };
    return api.call('PATCH', '/api/v1/namespaces/default', { body });
  };
  const pod = (name: string, spec: object = {}) =>
    api.call('POST', '/api/v1/namespaces/default/pods', { body: podBody(name, { spec }) });
  const warningOf = ({ headers }: { readonly headers: Readonly<Record<string, string>> }): string =>
    headers['warning'] ?? '';

  test('enforce refuses pods, and accepts templates with a warning', async () => {
    await label({ enforce: 'baseline', warn: 'restricted' });
    const refused = await pod('p', { hostNetwork: true });
    assert.equal(refused.status, 403);
    assert.equal(
      refused.at('message'),
      'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    );
    const allowed = await pod('q');
    assert.equal(allowed.status, 201);
    assert.match(warningOf(allowed), /would violate PodSecurity \\"restricted:latest\\": allowPrivilegeEscalation/);
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: { hostNetwork: true, containers: [{ name: 'c', image: 'i' }] },
    };
    const spec = { selector: { matchLabels: { a: 'b' } }, template };
    const deployment = await api.call('POST', '/apis/apps/v1/namespaces/default/deployments', {
      body: { metadata: { name: 'd' }, spec },
    });
    assert.equal(deployment.status, 201);
    assert.match(warningOf(deployment), /would violate PodSecurity \\"restricted:latest\\": host namespaces/);
  });

  test('updates without security changes are not evaluated', async () => {
    await pod('p', { hostNetwork: true });
    await label({ enforce: 'baseline' });
    const path = '/api/v1/namespaces/default/pods/p';
    assert.equal((await api.call('PATCH', path, { body: { metadata: { labels: { a: 'b' } } } })).status, 200);
    const image = [{ op: 'replace', path: '/spec/containers/0/image', value: 'other' }];
    const headers = { 'content-type': 'application/json-patch+json' };
    assert.equal((await api.call('PATCH', path, { body: image, headers })).status, 403);
  });

  test('a namespace with a stricter level warns of existing pods that violate it', async () => {
    await pod('a', { hostNetwork: true });
    await pod('b', { hostNetwork: true });
    await pod('c', { hostPID: true, volumes: [{ name: 'v', hostPath: { path: '/' } }] });
    await api.call('GET', '/api/v1/namespaces/default/pods');
    const answer = warningOf(await label({ enforce: 'baseline', 'enforce-version': 'v1.30' }));
    assert.match(
      answer,
      /existing pods in namespace \\"default\\" violate the new PodSecurity enforce level \\"baseline:v1.30\\"/,
    );
    assert.match(answer, /"a \(and 1 other pod\): host namespaces", 299 - "c: host namespaces, hostPath volumes"/);
    assert.equal(warningOf(await label({ other: 'x' })), '');
  });

  test('invalid labels are refused', async () => {
    const refused = await label({ enforce: 'strict', 'warn-version': '1.30' });
    assert.equal(refused.status, 422);
    assert.match(
      refused.textAt('message'),
      /metadata.labels\[pod-security.kubernetes.io\/enforce\]: Invalid value: "strict": must be one of privileged, baseline, restricted/,
    );
    assert.match(refused.textAt('message'), /warn-version\]: Invalid value: "1.30": must be "latest" or "v1.x"/);
  });
});

test('a namespace missing from the cache is read from the store before a pod in it is evaluated', async () => {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const reader = { cached: () => undefined, fresh: async () => ({ metadata: { name: 'new', labels } }) };
  const plugin = createPodSecurity({ reader } as unknown as AdmissionDeps);
  const object = podBody('p', {
    spec: { containers: [{ ...container({ privileged: true }), securityContext: { privileged: true } }] },
  });
  const definition = { group: '', plural: 'pods', kind: 'Pod' };
  const request = { operation: 'CREATE', definition, subresource: '', namespace: 'new', name: 'p', object };
  await assert.rejects(
    async () => plugin.validate?.(request as unknown as AdmissionRequest),
    /violates PodSecurity "restricted:latest"/,
  );
});
