import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
import fc from 'fast-check';
import { cutMessage, messagePath, messageShareBytes, terminationMessage } from './termination-message.ts';

const container = (change: Partial<Container> = {}): Container => ({ name: 'c', resources: {}, ...change });
const bytes = (text: string): Uint8Array => Buffer.from(text);
const FALLBACK = container({ terminationMessagePolicy: 'FallbackToLogsOnError' });

test('[LIFE-18] the message is the file; the end of the log replaces it only after a failure and on request', () => {
  const logTail = bytes('one\ntwo\n');
  const table: readonly [Container, number, string, string][] = [
    [container(), 1, 'wrote this', 'wrote this'],
    [container(), 1, '', ''],
    [FALLBACK, 1, 'wrote this', 'wrote this'],
    [FALLBACK, 1, '', 'one\ntwo\n'],
    [FALLBACK, 0, '', ''],
  ];
  for (const [of, exitCode, file, expected] of table)
    assert.equal(terminationMessage(of, { exitCode, file: bytes(file), logTail }), expected);
  assert.equal(messagePath(container()), '/dev/termination-log');
  assert.equal(messagePath(container({ terminationMessagePath: '/out' })), '/out');
});

test('[LIFE-18] messages are bounded: 4096 bytes, 80 lines and 2048 bytes of the log, 12 kB in a pod', () => {
  const long = { exitCode: 1, file: bytes('x'.repeat(5_000)), logTail: bytes('') };
  assert.equal(terminationMessage(container(), long).length, 4_096);
  const lines = `${Array.from({ length: 100 }, (_, index) => `line ${index}`).join('\n')}\n`;
  const said = terminationMessage(FALLBACK, { exitCode: 1, file: bytes(''), logTail: bytes(lines) });
  assert.deepEqual([said.split('\n').length - 1, said.startsWith('line 20\n')], [80, true]);
  const wide = terminationMessage(FALLBACK, { exitCode: 1, file: bytes(''), logTail: bytes('y'.repeat(5_000)) });
  assert.equal(wide.length, 2_048);
  const podOf = (count: number): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {},
    spec: { containers: Array.from({ length: count }, (_, index) => container({ name: `c${index}` })) },
    status: {},
  });
  assert.deepEqual(
    [1, 3, 4, 12].map((count) => messageShareBytes(podOf(count))),
    [4_096, 4_096, 3_072, 1_024],
  );
});

test('a message is never cut inside a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(64), (text, maxBytes) => {
      const cut = cutMessage(text, maxBytes);
      assert.ok(Buffer.byteLength(cut) <= maxBytes && text.startsWith(cut) && !cut.includes('\uFFFD'));
    }),
  );
});
