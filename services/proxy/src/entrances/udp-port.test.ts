import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { openUdpPort } from './udp-port.ts';

const descriptors = (): number => readdirSync('/proc/self/fd').length;

test('a UDP port that is taken costs no descriptor, however often it is tried', async (t) => {
  const holder = createSocket('udp4');
  holder.bind(0, '127.0.0.1');
  await once(holder, 'listening');
  t.after(() => holder.close());
  const { port } = holder.address();
  const before = descriptors();
  for (let attempt = 0; attempt < 20; attempt++) {
    await assert.rejects(
      openUdpPort({ host: '127.0.0.1', port }, () => {}),
      { code: 'EADDRINUSE' },
    );
  }
  assert.ok(descriptors() < before + 10, `${before} before, ${descriptors()} after`);
});
