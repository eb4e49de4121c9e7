import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIds } from '@holdfast/platform';
import { createSeededRandom } from '@holdfast/platform/random';
import { anyPlace } from '../service-calls/service-place.ts';

const endpoints = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { name: 's', namespace: 'default' },
  subsets: [
    { addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }], ports: [{ name: 'http', port: 80 }] },
    { addresses: [{ ip: '10.0.0.3' }, { ip: '169.254.169.254' }], ports: [{ name: 'http', port: 81 }] },
    { addresses: [{ ip: '10.0.0.4' }], ports: [{ name: 'metrics', port: 82 }] },
    { notReadyAddresses: [{ ip: '10.0.0.5' }], ports: [{ name: 'http', port: 80 }] },
  ],
};

test('requests to a service are spread over all endpoints that serve its port, and no others', () => {
  const ids = createIds(createSeededRandom(1, 'ids'));
  const seen = new Set<string>();
  for (let i = 0; i < 60; i++) {
    const place = anyPlace(endpoints, 'http', ids);
    seen.add(`${place?.host}:${place?.port}`);
  }
  assert.deepEqual([...seen].toSorted(), ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:81']);
  assert.equal(anyPlace(endpoints, 'none', ids), undefined);
});
