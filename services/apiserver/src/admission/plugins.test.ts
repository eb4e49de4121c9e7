import { strict as assert } from 'node:assert';
import { generateKeyPairSync, sign } from 'node:crypto';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { podBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { mergeTolerations } from './tolerations.ts';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

describe('runtime classes', () => {
  const runtime = (name: string, body: object) =>
    api.call('POST', '/apis/node.k8s.io/v1/runtimeclasses', { body: { metadata: { name }, handler: name, ...body } });
  const pod = (spec: object) => api.call('POST', '/api/v1/namespaces/default/pods', { body: podBody('p', { spec }) });

  test('an unknown one is refused', async () => {
    const refused = await pod({ runtimeClassName: 'none' });
    assert.equal(refused.at('message'), 'pods "p" is forbidden: pod rejected: RuntimeClass "none" not found');
  });

  test('the pod gets overhead, node selector and tolerations', async () => {
    const tolerations = [{ key: 'vm', operator: 'Exists', effect: 'NoSchedule' }];
    const scheduling = { nodeSelector: { vm: 'yes' }, tolerations };
    await runtime('vm', { overhead: { podFixed: { cpu: '250m' } }, scheduling });
    const created = await pod({ runtimeClassName: 'vm', nodeSelector: { disk: 'ssd' } });
    assert.deepEqual(created.at('spec.overhead'), { cpu: '250m' });
    assert.deepEqual(created.at('spec.nodeSelector'), { disk: 'ssd', vm: 'yes' });
    assert.deepEqual(created.at('spec.tolerations.2'), tolerations[0]);
  });

  test('a pod that contradicts the runtime class is refused', async () => {
    await runtime('vm', { overhead: { podFixed: { cpu: '250m' } }, scheduling: { nodeSelector: { vm: 'yes' } } });
    await runtime('plain', {});
    const message = async (spec: object): Promise<string> => (await pod(spec)).textAt('message');
    assert.match(
      await message({ runtimeClassName: 'vm', nodeSelector: { vm: 'no' } }),
      /conflict: runtimeClass.scheduling.nodeSelector\[vm\] = yes; pod.spec.nodeSelector\[vm\] = no$/,
    );
    const overhead = { cpu: '1' };
    assert.match(await message({ runtimeClassName: 'vm', overhead }), /doesn't match RuntimeClass's defined Overhead$/);
    assert.match(await message({ runtimeClassName: 'plain', overhead }), /without corresponding RuntimeClass/);
    assert.match(await message({ overhead }), /without corresponding RuntimeClass/);
  });

  test('a toleration that another one covers is omitted', () => {
    const narrow = { key: 'a', operator: 'Equal', value: '1', effect: 'NoSchedule' };
    const wide = { key: 'a', operator: 'Exists' };
    assert.deepEqual(mergeTolerations([narrow, wide, wide]), [wide]);
    assert.deepEqual(mergeTolerations([wide, narrow]), [wide]);
    const other = { key: 'b', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 };
    assert.deepEqual(mergeTolerations([other, { ...other, tolerationSeconds: 6 }, wide]).length, 2);
  });
});

test('a new node is tainted until it reports ready', async () => {
  const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  const own = { key: 'gpu', effect: 'NoSchedule' };
  const create = (name: string, taints?: object[]) =>
    api.call('POST', '/api/v1/nodes', { body: { metadata: { name }, spec: taints === undefined ? {} : { taints } } });
  assert.deepEqual((await create('a')).at('spec.taints'), [taint]);
  assert.deepEqual((await create('b', [own])).at('spec.taints'), [own, taint]);
  assert.deepEqual((await create('c', [taint])).at('spec.taints'), [taint]);
});

test('a kubelet can neither remove its taints nor attract workloads by labels', async () => {
  const nodes = '/api/v1/nodes';
  const register = (labels: object) =>
    api.call('POST', nodes, { as: 'node-a', body: { metadata: { name: 'a', labels } } });
  const refused = await register({ 'node-restriction.kubernetes.io/secret': 'x', 'kubernetes.io/role': 'x' });
  assert.match(
    refused.textAt('message'),
    /node "a" is not allowed to set the following labels: kubernetes.io\/role, node-restriction.kubernetes.io\/secret$/,
  );
  const own = { 'kubernetes.io/hostname': 'a', 'topology.kubernetes.io/zone': 'z', 'example.com/a': 'b' };
  assert.equal((await register(own)).status, 201);
  const change = (body: object) => api.call('PATCH', `${nodes}/a`, { as: 'node-a', body });
  assert.match((await change({ spec: { taints: [] } })).textAt('message'), /node "a" is not allowed to modify taints$/);
  const labels = { 'node-role.kubernetes.io/control-plane': '' };
  assert.match((await change({ metadata: { labels } })).textAt('message'), /not allowed to modify labels: node-role/);
  assert.equal((await change({ metadata: { labels: { 'example.com/a': 'c' } } })).status, 200);
});

test('a kubelet cannot choose the network of its pods, and keeps the one that it was given', async () => {
  const nodes = '/api/v1/nodes';
  const spec = { podCIDR: '10.244.7.0/24', podCIDRs: ['10.244.7.0/24'] };
  const refusal = /node "a" is not allowed to choose its networks \(spec\.podCIDRs\)$/;
  const register = (body: object) =>
    api.call('POST', nodes, { as: 'node-a', body: { metadata: { name: 'a' }, ...body } });
  assert.match((await register({ spec: { podCIDR: '10.0.0.0/8' } })).textAt('message'), refusal);
  assert.equal((await register({})).status, 201);
  const change = (as: string | undefined, body: object) =>
    api.call('PATCH', `${nodes}/a`, { ...(as === undefined ? {} : { as }), body });
  assert.match((await change('node-a', { spec })).textAt('message'), refusal);
  assert.equal((await change(undefined, { spec })).status, 200);
  assert.equal((await change('node-a', { metadata: { labels: { 'example.com/a': 'b' } } })).status, 200);
});

test('an ingress that names no class gets the default one', async () => {
  const ingress = (name: string, extra: object = {}, annotations: object = {}) =>
    api.call('POST', '/apis/networking.k8s.io/v1/namespaces/default/ingresses', {
      body: {
        metadata: { name, annotations },
        spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } }, ...extra },
      },
    });
  assert.equal((await ingress('before')).at('spec.ingressClassName'), undefined);
  const annotations = { 'ingressclass.kubernetes.io/is-default-class': 'true' };
  const body = { metadata: { name: 'front', annotations }, spec: { controller: 'example.com/c' } };
  assert.equal((await api.call('POST', '/apis/networking.k8s.io/v1/ingressclasses', { body })).status, 201);
  assert.equal((await ingress('a')).at('spec.ingressClassName'), 'front');
  assert.equal((await ingress('b', { ingressClassName: 'own' })).at('spec.ingressClassName'), 'own');
  const old = await ingress('c', {}, { 'kubernetes.io/ingress.class': 'old' });
  assert.equal(old.at('spec.ingressClassName'), undefined);
});

test('a claim grows only where its class allows expansion', async () => {
  const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
  for (const [name, allowVolumeExpansion] of [
    ['fixed', false],
    ['elastic', true],
  ] as const) {
    const body = { metadata: { name }, provisioner: 'example.com/p', allowVolumeExpansion };
    await api.call('POST', '/apis/storage.k8s.io/v1/storageclasses', { body });
    const spec = {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      storageClassName: name,
      volumeName: 'v',
    };
    const created = await api.call('POST', claims, { body: { metadata: { name }, spec } });
    const status = { ...(created.body as object), status: { phase: 'Bound' } };
    assert.equal((await api.call('PUT', `${claims}/${name}/status`, { body: status })).status, 200);
  }
  const grow = (name: string) =>
    api.call('PATCH', `${claims}/${name}`, { body: { spec: { resources: { requests: { storage: '2Gi' } } } } });
  assert.equal((await grow('elastic')).status, 200);
  const refused = await grow('fixed');
  assert.equal(refused.status, 403);
  assert.match(refused.textAt('message'), /is forbidden: only dynamically provisioned pvc can be resized and/);
});

describe('certificate signing requests', () => {
  const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const create = (name: string, subject: string, signerName: string) =>
    api.call('POST', requests, {
      body: { metadata: { name }, spec: { request: requestFor(subject), signerName, usages: ['client auth'] } },
    });
  /** Lets `nobody` update requests, and use `verb` on the named signers. */
  async function allow(verb: string, resourceNames: readonly string[]): Promise<void> {
    const rules = [
      { apiGroups: ['certificates.k8s.io'], resources: ['*'], verbs: ['get', 'update', 'patch'] },
      { apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames, verbs: [verb] },
    ];
    await api.call('POST', `${rbac}/clusterroles`, { body: { metadata: { name: 'r' }, rules } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' };
    const subjects = [{ kind: 'User', name: 'nobody', apiGroup: 'rbac.authorization.k8s.io' }];
    await api.call('POST', `${rbac}/clusterrolebindings`, { body: { metadata: { name: 'b' }, roleRef, subjects } });
    await api.call('GET', `${rbac}/clusterrolebindings`);
    await api.call('GET', `${rbac}/clusterroles`);
  }
  const change = (name: string, subresource: string, status: object) =>
    api.call('PATCH', `${requests}/${name}/${subresource}`, { as: 'nobody', body: { status } });
  const approved = { conditions: [{ type: 'Approved', status: 'True', reason: 'r', message: 'm' }] };

  test('approval requires the right to approve for the signer', async () => {
    await create('a', '/CN=x', 'example.com/one');
    await create('b', '/CN=x', 'example.net/two');
    await allow('approve', ['example.com/*']);
    assert.equal((await change('a', 'approval', approved)).status, 200);
    const refused = await change('b', 'approval', approved);
    assert.equal(
      refused.at('message'),
      'certificatesigningrequests.certificates.k8s.io "b" is forbidden: user not permitted to approve requests with signerName "example.net/two"',
    );
  });

  test('signing requires the right to sign for the signer', async () => {
    await create('a', '/CN=x', 'example.com/one');
    await create('b', '/CN=x', 'example.com/two');
    await allow('sign', ['example.com/one']);
    const failed = { conditions: [{ type: 'Failed', status: 'True', reason: 'r', message: 'm' }] };
    assert.equal((await change('a', 'status', failed)).status, 200);
    assert.match(
      (await change('b', 'status', failed)).textAt('message'),
      /not permitted to sign requests with signerName/,
    );
  });

  test('a request for a superuser certificate is refused', async () => {
    const signer = 'kubernetes.io/kube-apiserver-client';
    const refused = await create('a', '/O=dev/O=system:masters/CN=x', signer);
    assert.equal(
      refused.at('message'),
      'certificatesigningrequests.certificates.k8s.io "a" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
    );
    assert.equal((await create('b', '/O=dev/CN=x', signer)).status, 201);
    assert.equal((await create('c', '/O=system:masters/CN=x', 'example.com/own')).status, 201);
  });

  test('the cluster authority signs no API server certificate that kubelets would trust', async () => {
    for (const signer of ['kube-apiserver-client', 'kube-apiserver-client-kubelet']) {
      for (const subject of ['/CN=kube-apiserver-kubelet-client', '/O=dev/O=holdfast:api-servers/CN=x']) {
        const refused = await create('a', subject, `kubernetes.io/${signer}`);
        assert.equal(refused.status, 403, signer);
        assert.match(refused.textAt('message'), /the subject is reserved for the API servers/);
      }
    }
    assert.equal((await create('b', '/CN=kube-apiserver-kubelet-client', 'example.com/own')).status, 201);
  });

  test('the cluster authority signs no certificate with two common names', async () => {
    const subject = '/CN=system:node:seen/CN=system:node:meant/O=system:nodes';
    for (const signer of ['kube-apiserver-client', 'kube-apiserver-client-kubelet', 'kubelet-serving']) {
      const refused = await create('a', subject, `kubernetes.io/${signer}`);
      assert.equal(refused.status, 403, signer);
      assert.match(refused.textAt('message'), /the subject has more than one common name/);
    }
    assert.equal((await create('b', subject, 'example.com/own')).status, 201);
  });

  test('a header in the PEM block of a request conceals no subject', async () => {
    const pem = Buffer.from(requestFor('/CN=kube-apiserver-kubelet-client'), 'base64').toString();
    const request = Buffer.from(pem.replace('REQUEST-----\n', 'REQUEST-----\nBase: 64\n\n')).toString('base64');
    const spec = { request, signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: ['client auth'] };
    const refused = await api.call('POST', requests, { body: { metadata: { name: 'a' }, spec } });
    assert.deepEqual([refused.status, /is reserved/.test(refused.textAt('message'))], [403, true]);
  });
});

/** A signed PKCS #10 request for the subject, in base64 of PEM as the API takes it. */
function requestFor(subject: string): string {
  const names = subject.split('/').slice(1);
  const attributes = names.map((each) => {
    const [type = '', value = ''] = each.split('=');
    const identifier = der(0x06, Buffer.from([0x55, 0x04, type === 'O' ? 0x0a : 0x03]));
    return der(0x31, der(0x30, Buffer.concat([identifier, der(0x0c, Buffer.from(value))])));
  });
  const version = der(0x02, Buffer.from([0]));
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ type: 'spki', format: 'der' });
  const info = der(0x30, Buffer.concat([version, der(0x30, Buffer.concat(attributes)), key, der(0xa0, NOTHING)]));
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign(null, info, privateKey)]));
  const request = der(0x30, Buffer.concat([info, der(0x30, ED25519), signature]));
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${request.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
  return Buffer.from(pem).toString('base64');
}

const NOTHING = Buffer.alloc(0);
/** The object identifier of the algorithm. */
const ED25519 = Buffer.from([0x06, 0x03, 0x2b, 0x65, 0x70]);

function der(tag: number, content: Buffer): Buffer {
  const size = content.length < 0x80 ? [content.length] : [0x81, content.length];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
