import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CertificateSigningRequest } from '@holdfast/api';
import fc from 'fast-check';
import { approved, isOpen, selfApprovals } from './decide.ts';

const KUBELET = 'kubernetes.io/kube-apiserver-client-kubelet';
const GOOD_USAGES = ['digital signature', 'client auth'];
const nodeNames = fc.constantFrom('system:node:a', 'system:node:b');
const names = fc.oneof({ weight: 4, arbitrary: nodeNames }, fc.constantFrom('admin', 'system:nodes:a', ''));
const mostlyNone = fc.oneof({ weight: 8, arbitrary: fc.constant([]) }, fc.constant(['x']));
const identities = fc.record({
  commonName: names,
  organizations: fc.oneof(
    { weight: 4, arbitrary: fc.constant(['system:nodes']) },
    fc.constantFrom([], ['system:masters'], ['system:nodes', 'system:masters']),
  ),
  dnsNames: mostlyNone,
  ipAddresses: mostlyNone,
  emailAddresses: mostlyNone,
  uris: mostlyNone,
});
const usages = fc.oneof(
  { weight: 4, arbitrary: fc.constant(GOOD_USAGES) },
  fc.subarray(['digital signature', 'key encipherment', 'client auth', 'server auth']),
);
const conditions = fc.uniqueArray(fc.constantFrom('Approved', 'Denied', 'Failed'));

const request = (
  spec: Partial<CertificateSigningRequest['spec']>,
  status: CertificateSigningRequest['status'] = {},
): CertificateSigningRequest => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'r' },
  spec: { request: '', signerName: KUBELET, ...spec },
  status,
});

test('with any requestor and subject: only requests of a node for itself with valid kubelet names are approved', () => {
  fc.assert(
    fc.property(names, identities, usages, (username, identity, wanted) => {
      const rights = selfApprovals(request({ username, usages: wanted }), identity).map(
        ({ subresource }) => subresource,
      );
      const { commonName, organizations, dnsNames, ipAddresses, emailAddresses, uris } = identity;
      const isNode = commonName.startsWith('system:node:') && organizations.join() === 'system:nodes';
      const isBare = [...dnsNames, ...ipAddresses, ...emailAddresses, ...uris].length === 0;
      const isClient = GOOD_USAGES.every((usage) => wanted.includes(usage)) && !wanted.includes('server auth');
      const forAny = isNode && isBare && isClient ? ['nodeclient'] : [];
      assert.deepEqual(rights, username === commonName ? forAny.flatMap((any) => ['selfnodeclient', any]) : forAny);
      const reordered = selfApprovals(request({ username, usages: wanted.toReversed() }), identity);
      assert.deepEqual(
        reordered.map(({ subresource }) => subresource),
        rights,
      );
    }),
    { numRuns: 300 },
  );
});

test('only a pending request to the kubelet signer is open, and an approval closes it and keeps other conditions', () => {
  const others = fc.constantFrom('kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client', 'a.b/c');
  const signers = fc.oneof({ weight: 3, arbitrary: fc.constant(KUBELET) }, others);
  fc.assert(
    fc.property(signers, conditions, fc.constantFrom('', '', 'PEM'), (signerName, types, certificate) => {
      const answers = types.map((type) => ({ type, status: 'True' }));
      const before = request({ signerName }, { conditions: answers, certificate });
      const isAnswered = types.includes('Approved') || types.includes('Denied') || certificate !== '';
      assert.equal(isOpen(before), signerName === KUBELET && !isAnswered);
      const after = approved(before, { subresource: 'nodeclient', message: 'why' }, 0);
      assert.equal(isOpen(after), false, 'no thrash');
      assert.deepEqual(after.status.conditions?.slice(0, -1), answers);
      assert.equal(after.status.conditions?.at(-1)?.type, 'Approved');
      assert.deepEqual({ ...after, status: before.status }, before);
    }),
    { numRuns: 300 },
  );
});
