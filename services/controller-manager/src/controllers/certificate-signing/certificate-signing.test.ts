import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  API_CLIENT_SIGNER,
  CERTIFICATE_SIGNING_REQUESTS,
  type CertificateSigningRequest,
  KUBELET_CLIENT_SIGNER,
  LEGACY_SIGNER,
} from '@holdfast/api';
import fc from 'fast-check';
import { refusalOf } from '../../certificates/rules.ts';
import { CERTIFICATE_RIGHTS_RECHECK_MS } from '../../limits.ts';
import { certificateRequest, modelAuthority, readModelRequest } from '../../testing/certificate-scenarios.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { certificateApprovingController } from '../certificate-approving/index.ts';
import { decide, isDue } from './decide.ts';
import { certificateSigningController } from './index.ts';

const HOUR = 3_600_000;
const NOW = 1_800_000_000_000;
const statusOf = (types: readonly string[]): CertificateSigningRequest['status'] => ({
  conditions: types.map((type) => ({ type, status: 'True' })),
});

test('only approved requests are signed, once, and only for signers of this cluster', () => {
  const due = (signerName: string, status: CertificateSigningRequest['status']): boolean =>
    isDue(certificateRequest('a', { signerName }, status));
  assert.equal(due(API_CLIENT_SIGNER, statusOf(['Approved'])), true);
  assert.equal(due(API_CLIENT_SIGNER, statusOf([])), false);
  assert.equal(due(API_CLIENT_SIGNER, statusOf(['Denied'])), false);
  assert.equal(due(API_CLIENT_SIGNER, statusOf(['Approved', 'Failed'])), false);
  assert.equal(due(API_CLIENT_SIGNER, { ...statusOf(['Approved']), certificate: 'PEM' }), false);
  assert.equal(due('example.com/own', statusOf(['Approved'])), false);
});

test('no signer of the cluster issues an API server certificate that kubelets trust', async () => {
  const identity = await readModelRequest('a');
  for (const signer of [API_CLIENT_SIGNER, KUBELET_CLIENT_SIGNER, LEGACY_SIGNER]) {
    for (const named of [
      { commonName: 'kube-apiserver-kubelet-client' },
      { organizations: ['dev', 'holdfast:api-servers'] },
    ])
      assert.equal(refusalOf(signer, { ...identity, ...named }, []), 'subject is reserved for the API servers');
  }
});

test('a certificate lasts between ten minutes and a year, whatever the request', async () => {
  const identity = await readModelRequest('a');
  fc.assert(
    fc.property(fc.option(fc.integer({ min: -1, max: 2 ** 31 - 1 }), { nil: undefined }), (seconds) => {
      const spec = seconds === undefined ? {} : { expirationSeconds: seconds };
      const action = decide(certificateRequest('a', spec), identity, NOW);
      assert.equal(action.type, 'issue');
      if (action.type !== 'issue') return;
      const { notBeforeMs, notAfterMs } = action.options;
      assert.equal(notBeforeMs, NOW - HOUR / 12);
      assert.ok(notAfterMs >= NOW + HOUR / 6 && notAfterMs <= NOW + 365 * 24 * HOUR);
      if (seconds !== undefined && seconds >= 600 && seconds < 8 * 3_600)
        assert.equal(notAfterMs, NOW + seconds * 1000);
    }),
  );
});

test('a node without the right to renew waits, and is approved once it has the right', async () => {
  const world = createWorld();
  const asked: string[] = [];
  let may = '';
  const controller = new DrivenController(
    world,
    certificateApprovingController({
      readRequest: readModelRequest,
      access:
        () =>
        (_, { subresource }) => {
          asked.push(subresource);
          return Promise.resolve(subresource === may);
        },
    }),
  );
  world.api.put(CERTIFICATE_SIGNING_REQUESTS, certificateRequest('node-a'));
  const foreign = { signerName: KUBELET_CLIENT_SIGNER, username: 'somebody' };
  world.api.put(CERTIFICATE_SIGNING_REQUESTS, certificateRequest('node-b', foreign));
  await controller.settle();
  assert.deepEqual(asked, ['selfnodeclient', 'nodeclient', 'nodeclient']);
  assert.equal(world.api.writes.length, 0);
  may = 'selfnodeclient';
  world.clock.skip(CERTIFICATE_RIGHTS_RECHECK_MS);
  await controller.settle();
  const conditions = (name: string): unknown =>
    world.api.get(CERTIFICATE_SIGNING_REQUESTS, { name }).status.conditions?.map(({ type, reason }) => [type, reason]);
  assert.deepEqual([conditions('node-a'), conditions('node-b')], [[['Approved', 'AutoApproved']], undefined]);
  assert.deepEqual(controller.errors, []);
});

test('a request answered by another client meanwhile keeps that answer', async () => {
  const world = createWorld();
  const settings = { readRequest: readModelRequest, authority: modelAuthority };
  const controller = new DrivenController(world, certificateSigningController(settings));
  world.api.put(CERTIFICATE_SIGNING_REQUESTS, certificateRequest('a', {}, statusOf(['Approved'])));
  world.api.beforeWrite = () => {
    world.api.beforeWrite = () => {};
    const met = world.api.get(CERTIFICATE_SIGNING_REQUESTS, { name: 'a' });
    world.api.put(CERTIFICATE_SIGNING_REQUESTS, { ...met, status: { ...met.status, certificate: 'theirs' } });
  };
  await controller.settle();
  assert.equal(world.api.get(CERTIFICATE_SIGNING_REQUESTS, { name: 'a' }).status.certificate, 'theirs');
  assert.deepEqual([world.api.writes.length, controller.errors], [0, []]);
});
