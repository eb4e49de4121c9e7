import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secret } from '@holdfast/api';
import fc from 'fast-check';
import { decideOnAccountToken } from './account-token-decision.ts';

const NAME = 'kubernetes.io/service-account.name';
const UID = 'kubernetes.io/service-account.uid';

const secrets: fc.Arbitrary<Secret> = fc
  .record({
    type: fc.constantFrom('kubernetes.io/service-account-token', 'Opaque'),
    uid: fc.constantFrom(undefined, 'u1', 'u2'),
    going: fc.boolean(),
    data: fc.dictionary(fc.constantFrom('token', 'ca.crt', 'namespace', 'own'), fc.constantFrom('', 'eA==')),
  })
  .map(({ type, uid, going, data }) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    type,
    metadata: {
      name: 's',
      namespace: 'ns',
      annotations: { [NAME]: 'robot', note: 'kept', ...(uid === undefined ? {} : { [UID]: uid }) },
      ...(going ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    data,
  }));
const accounts = fc.constantFrom(undefined, {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'robot', namespace: 'ns', uid: 'u1' },
});

test('a Secret gets its missing fields once, keeps its existing ones, and is deleted with its account', () => {
  fc.assert(
    fc.property(secrets, accounts, fc.constantFrom(undefined, 'pem'), (secret, account, ca) => {
      const facts = { account, ca, issue: () => 'signed' };
      const action = decideOnAccountToken(secret, facts);
      const isAsked =
        secret.type === 'kubernetes.io/service-account-token' && secret.metadata.deletionTimestamp === undefined;
      if (!isAsked) return assert.equal(action, undefined);
      const claimed = secret.metadata.annotations?.[UID];
      const isOwned = account !== undefined && (claimed === undefined || claimed === account.metadata.uid);
      assert.equal(action?.kind === 'remove', !isOwned);
      if (action?.kind !== 'fill') return;
      const { data = {}, metadata } = action.secret;
      assert.equal(metadata.annotations?.[UID], 'u1');
      assert.equal(metadata.annotations?.['note'], 'kept');
      assert.equal(data['own'], secret.data?.['own']);
      assert.equal(data['token'], secret.data?.['token'] || Buffer.from('signed').toString('base64'));
      assert.ok(data['namespace']);
      if (ca !== undefined) assert.equal(data['ca.crt'], Buffer.from(ca).toString('base64'));
      assert.equal(decideOnAccountToken(action.secret, facts), undefined, 'nothing is lacking any more');
    }),
  );
});
