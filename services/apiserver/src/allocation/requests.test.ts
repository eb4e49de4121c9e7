import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import type { Service } from '@holdfast/api';
import { addressRange } from './ranges.ts';
import { settleRequests } from './requests.ts';

const PORTS = 2_000;

test('the number of look-ups per port is bounded, however many ports there are', () => {
  let looks = 0;
  const ports = Array.from({ length: PORTS }, (_, index) => ({
    get port() {
      looks += 1;
      return index + 1;
    },
  }));
  const service = { metadata: { name: 's' }, spec: { type: 'NodePort', ports } } as unknown as Service;
  settleRequests(service, undefined, addressRange('10.96.0.0/16'));
  assert.ok(looks < 10 * PORTS, `${looks} looks at ${PORTS} ports`);
});
