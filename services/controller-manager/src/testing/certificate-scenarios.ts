import assert from 'node:assert/strict';
import {
  API_CLIENT_SIGNER,
  CERTIFICATE_SIGNING_REQUESTS,
  type CertificateSigningRequest,
  KUBELET_CLIENT_SIGNER,
} from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import type { CertificateAuthority, ReadRequest } from '../certificates/port.ts';
import type { Managers, Scenario } from './scenarios.ts';

/** In the model a request is the name of its node. */
export const readModelRequest: ReadRequest = (request) =>
  Promise.resolve({
    commonName: `system:node:${request}`,
    organizations: ['system:nodes'],
    dnsNames: [],
    ipAddresses: [],
    emailAddresses: [],
    uris: [],
  });

/** Signs for everybody, each time alike. */
export const modelAuthority = (): Promise<CertificateAuthority> =>
  Promise.resolve({ issue: (request) => Promise.resolve(`certificate of ${request}`) });

export const certificateRequest = (
  name: string,
  spec: Partial<CertificateSigningRequest['spec']> = {},
  status: CertificateSigningRequest['status'] = {},
): CertificateSigningRequest => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name },
  spec: {
    request: name,
    signerName: KUBELET_CLIENT_SIGNER,
    username: `system:node:${name}`,
    usages: ['client auth', 'digital signature'],
    ...spec,
  },
  status,
});

async function answerRequests(managers: Managers, live: Scenario): Promise<void> {
  const { api, clock } = managers.world;
  const user = api.client('user');
  await user.create(CERTIFICATE_SIGNING_REQUESTS, certificateRequest('node-a'));
  await user.create(CERTIFICATE_SIGNING_REQUESTS, certificateRequest('jane', { signerName: API_CLIENT_SIGNER }));
  const wrong = certificateRequest('john', { signerName: API_CLIENT_SIGNER, usages: ['server auth'] });
  await user.create(CERTIFICATE_SIGNING_REQUESTS, wrong);
  await live(managers);
  const told = (name: string): unknown => {
    const { conditions = [], certificate = '' } = api.get(CERTIFICATE_SIGNING_REQUESTS, { name }).status;
    return [...conditions.map(({ type }) => type), Buffer.from(certificate, 'base64').toString()];
  };
  assert.deepEqual(told('node-a'), ['Approved', 'certificate of node-a']);
  assert.deepEqual(told('jane'), [''], 'somebody has to approve it');
  for (const name of ['jane', 'john']) {
    const met = api.get(CERTIFICATE_SIGNING_REQUESTS, { name });
    const approval = { type: 'Approved', status: 'True', lastUpdateTime: formatTime(clock.now()) };
    api.put(CERTIFICATE_SIGNING_REQUESTS, { ...met, status: { ...met.status, conditions: [approval] } });
  }
  await live(managers);
  assert.deepEqual(told('jane'), ['Approved', 'certificate of jane']);
  assert.deepEqual(told('john'), ['Approved', 'Failed', '']);
}

/** `live` lets the managers and nodes work until a part of a scenario is over. */
export const certificateScenarios = (live: Scenario): Readonly<Record<string, Scenario>> => ({
  'certificate requests are approved, signed or failed': (managers) => answerRequests(managers, live),
});
