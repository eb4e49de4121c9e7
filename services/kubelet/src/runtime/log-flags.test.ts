import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readKubeletConfig } from '../config.ts';

const read = (...flags: readonly string[]) =>
  readKubeletConfig({
    argv: ['--state-dir', '/tmp/x', '--api-servers', 'https://127.0.0.1:1', '--token-file', '/tmp/t', ...flags],
    env: {},
  })?.logs;

test('logs are kept with the defaults of a kubelet, unless flags change them', () => {
  assert.deepEqual(read(), { maxBytes: 10 * 1024 * 1024, maxFiles: 5, checkMs: 10_000 });
  const own = read(
    '--container-log-max-size=1Mi',
    '--container-log-max-files=2',
    '--container-log-monitor-interval=1m',
  );
  assert.deepEqual(own, { maxBytes: 1024 * 1024, maxFiles: 2, checkMs: 60_000 });
});

test('an invalid log limit is refused with the valid form', () => {
  assert.throws(() => read('--container-log-max-size', 'big'), { message: /takes a size like 10Mi, not "big"/ });
  assert.throws(() => read('--container-log-max-size', '0'), { message: /takes a size/ });
  assert.throws(() => read('--container-log-monitor-interval', '10'), { message: /takes a duration such as 1m30s/ });
  assert.throws(() => read('--container-log-max-files', '1'), /container-log-max-files/);
});
