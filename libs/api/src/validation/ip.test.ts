import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalIp, cidrContains, isIp, isIpv6, parseCidr } from './ip.ts';

test('addresses of both families', () => {
  for (const text of [
    '10.0.0.1',
    '010.0.0.01',
    '0.0.0.0',
    '255.255.255.255',
    '::',
    '::1',
    'fd00::a:1',
    '::ffff:10.0.0.1',
  ]) {
    assert.equal(isIp(text), true, text);
  }
  for (const text of ['', '10.0.0', '10.0.0.256', '1:2', ':::', '1::2::3', 'fe80::1%eth0', ' 10.0.0.1']) {
    assert.equal(isIp(text), false, text);
  }
  assert.equal(isIpv6('fd00::1'), true);
  assert.equal(isIpv6('10.0.0.1'), false);
});

test('networks, and containment of networks', () => {
  for (const text of ['10.0.0.0', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/', '::/129']) {
    assert.equal(parseCidr(text), undefined, text);
  }
  const contains = (outer: string, inner: string): boolean => {
    const [a, b] = [parseCidr(outer), parseCidr(inner)];
    assert.ok(a !== undefined && b !== undefined);
    return cidrContains(a, b);
  };
  assert.equal(contains('10.0.0.0/8', '10.1.0.0/16'), true);
  assert.equal(contains('10.1.0.0/16', '10.0.0.0/8'), false);
  assert.equal(contains('fd00::/8', 'fd01::/16'), true);
  assert.equal(contains('fd00::/8', '10.0.0.0/8'), false);
});

test('an address has one canonical form', () => {
  const cases: readonly (readonly [text: string, canonical: string])[] = [
    ['010.1.2.3', '10.1.2.3'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['1:0:2:0:0:3:4:5', '1:0:2::3:4:5'],
    ['10:0:0:1:1:1:1:1', '10::1:1:1:1:1'],
    ['0:0:1:0:0:0:0:0', '0:0:1::'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
  ];
  for (const [text, canonical] of cases) assert.equal(canonicalIp(text), canonical, text);
  assert.equal(canonicalIp('x'), undefined);
});
