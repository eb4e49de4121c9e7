import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGlobalUnicast } from './global-unicast.ts';

test('public and private addresses of other machines may be proxied', () => {
  for (const address of ['10.0.0.1', '192.168.1.1', '172.16.0.9', '100.64.0.1', '8.8.8.8', 'fd00::1', '2001:db8::1'])
    assert.equal(isGlobalUnicast(address), true, address);
  for (const address of ['::ffff:10.0.0.1', '64:ff9b::808:808', '2002:808:808::1'])
    assert.equal(isGlobalUnicast(address), true, address);
});

test('[CVE-2020-8562] loopback, link-local and multicast addresses are refused in every notation', () => {
  const loopback = ['127.0.0.1', '127.1.2.3', '::1', '0:0:0:0:0:0:0:1', '::127.0.0.1', '::ffff:127.0.0.1'];
  const embedded = ['::ffff:7f00:1', '64:ff9b::7f00:1', '64:ff9b::127.0.0.1', '64:ff9b:1::7f00:1', '2002:7f00:1::'];
  const metadata = ['169.254.169.254', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '2002:a9fe:a9fe::1'];
  const others = ['fe80::1', 'fe80::1%eth0', 'fec0::1', '224.0.0.1', '239.1.1.1', 'ff02::1', '255.255.255.255'];
  const unspecified = ['0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0', '64:ff9b::'];
  const noAddress = ['', 'localhost', 'example.com', '127.1', '0x7f000001', '2130706433'];
  for (const address of [...loopback, ...embedded, ...metadata, ...others, ...unspecified, ...noAddress])
    assert.equal(isGlobalUnicast(address), false, address);
});
