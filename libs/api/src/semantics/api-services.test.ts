import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { APIService, Endpoints, Service } from '../generated/types.ts';
import {
  AUTOMANAGED_LABEL,
  type Availability,
  decideRegistration,
  LOCAL_AVAILABILITY,
  localApiService,
  serviceFault,
  withAvailability,
} from './api-services.ts';

const PLACE = { namespace: 'sample', name: 'api', port: 443 };
const NOW = 1_767_323_045_000;

const serviceWith = (spec: object): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {},
  spec,
  status: { loadBalancer: {} },
});
const endpointsWith = (...subsets: object[]): Endpoints => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: {},
  subsets: subsets as NonNullable<Endpoints['subsets']>,
});

const LISTENING = serviceWith({ type: 'ClusterIP', ports: [{ port: 443, name: 'https' }] });
const ADDRESSES = [{ ip: '10.0.0.1' }];

test('the service of an API is checked in the order and with the messages of Kubernetes', () => {
  const rows: readonly (readonly [string, Service | undefined, Endpoints | undefined, string | undefined])[] = [
    ['no service', undefined, undefined, 'ServiceNotFound: service/api in "sample" is not present'],
    [
      'no such port',
      serviceWith({ ports: [{ port: 80 }] }),
      undefined,
      'ServicePortError: service/api in "sample" is not listening on port 443',
    ],
    ['no endpoints', LISTENING, undefined, 'EndpointsNotFound: cannot find endpoints for service/api in "sample"'],
    [
      'no address',
      LISTENING,
      endpointsWith({ notReadyAddresses: ADDRESSES, ports: [{ name: 'https', port: 1 }] }),
      'MissingEndpoints: endpoints for service/api in "sample" have no addresses with port name "https"',
    ],
    [
      'another port',
      LISTENING,
      endpointsWith({ addresses: ADDRESSES, ports: [{ name: 'metrics', port: 1 }] }),
      'MissingEndpoints: endpoints for service/api in "sample" have no addresses with port name "https"',
    ],
    ['served', LISTENING, endpointsWith({ addresses: ADDRESSES, ports: [{ name: 'https', port: 1 }] }), undefined],
    ['not of this cluster', serviceWith({ type: 'ExternalName' }), undefined, undefined],
  ];
  for (const [what, service, endpoints, expected] of rows) {
    const fault = serviceFault(PLACE, service, endpoints);
    assert.equal(fault === undefined ? undefined : `${fault.reason}: ${fault.message}`, expected, what);
  }
});

const LOCAL = localApiService({
  group: 'reef.example.com',
  version: 'v1',
  priority: { group: 1000, version: 100 },
  automanaged: 'true',
});
const labelled = (value: string | undefined): APIService => ({
  ...LOCAL,
  metadata: { name: 'v1.reef.example.com', ...(value === undefined ? {} : { labels: { [AUTOMANAGED_LABEL]: value } }) },
});
const changed = (of: APIService): APIService => ({ ...of, spec: { ...of.spec, versionPriority: 9 } });

test('registrations of definitions are reconciled unless a user has taken them over', () => {
  const rows: readonly (readonly [string, APIService | undefined, APIService | undefined, string | undefined])[] = [
    ['absent and unwanted', undefined, undefined, undefined],
    ['absent', undefined, LOCAL, 'create'],
    ['as it should be', labelled('true'), LOCAL, undefined],
    ['changed', changed(labelled('true')), LOCAL, 'update'],
    ['unwanted', labelled('true'), undefined, 'delete'],
    ['taken over', changed(labelled(undefined)), LOCAL, undefined],
    ['with a foreign owner', labelled(undefined), undefined, undefined],
    ['of the build', labelled('onstart'), undefined, undefined],
  ];
  for (const [what, current, desired, expected] of rows) {
    assert.equal(decideRegistration(current, desired), expected, what);
  }
});

test('a condition keeps its transition time until its status changes, and is not written twice', () => {
  const failed: Availability = { status: 'False', reason: 'ServiceNotFound', message: 'x' };
  const first = withAvailability(LOCAL, LOCAL_AVAILABILITY, NOW);
  const held = { ...LOCAL, status: first ?? {} };
  assert.equal(held.status.conditions?.[0]?.lastTransitionTime, '2026-01-02T03:04:05Z');
  assert.equal(withAvailability(held, LOCAL_AVAILABILITY, NOW + 1000), undefined);
  const passed = withAvailability(held, { ...LOCAL_AVAILABILITY, reason: 'Passed' }, NOW + 1000);
  assert.equal(passed?.conditions?.[0]?.lastTransitionTime, '2026-01-02T03:04:05Z');
  const lost = withAvailability(held, failed, NOW + 1000);
  assert.deepEqual(lost?.conditions, [{ type: 'Available', ...failed, lastTransitionTime: '2026-01-02T03:04:06Z' }]);
});
