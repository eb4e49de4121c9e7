import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasRoutes, readRoutes, routeCommands } from './route-table.ts';

const TO_B = { network: '10.244.1.0/24', via: '172.18.0.3' };
const TO_C = { network: '10.244.2.128/25', via: '172.18.0.4' };

/** As the kernel prints it: hexadecimal numbers in the byte order of the machine. */
const TABLE = [
  'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
  'eth0\t00000000\t010012AC\t0003\t0\t0\t0\t00000000\t0\t0\t0',
  'eth0\t0001F40A\t030012AC\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0',
  'eth0\t8002F40A\t040012AC\t0003\t0\t0\t0\t80FFFFFF\t0\t0\t0',
].join('\n');

test('routes of nodes that are gone are removed before the others are set', () => {
  assert.equal(
    routeCommands([TO_B], [TO_B, TO_C], '10.244.0.0/16'),
    'route del 10.244.2.128/25 proto 212\n' +
      'route replace unreachable 10.244.0.0/16 proto 212\n' +
      'route replace 10.244.1.0/24 via 172.18.0.3 proto 212\n',
  );
});

test('the routes of an earlier process are found', () => {
  assert.deepEqual(
    readRoutes(
      'unreachable 10.244.0.0/16 \n10.244.1.0/24 via 172.18.0.3 dev eth0 \n10.244.2.128/25 via 172.18.0.4 dev eth0\n',
    ),
    [TO_B, TO_C],
  );
});

test('a route that the kernel has lost, or that leads elsewhere, is missed', () => {
  assert.equal(hasRoutes(TABLE, [TO_B, TO_C]), true);
  assert.equal(hasRoutes(TABLE, [{ ...TO_B, via: '172.18.0.4' }]), false);
  assert.equal(hasRoutes(TABLE, [{ ...TO_B, network: '10.244.1.0/25' }]), false);
  assert.equal(hasRoutes('', [TO_B]), false);
  assert.equal(hasRoutes('', []), true);
});
