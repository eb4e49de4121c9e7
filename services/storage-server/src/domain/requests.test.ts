import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LINE_BYTES_MAX, PAYLOAD_BYTES_MAX } from '../limits.ts';
import { BadRequest, type Request, RequestReader } from './requests.ts';

const PROOF = 'a'.repeat(64);
const OPEN = `open data 7 ${PROOF}\n`;

function readAll(bytes: Buffer, cuts: readonly number[] = []): readonly Request[] {
  const reader = new RequestReader();
  reader.opened();
  const requests: Request[] = [];
  const ends = [...new Set([...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  let start = 0;
  for (const end of ends) {
    reader.push(bytes.subarray(start, end));
    start = end;
    for (let next = reader.next(); next !== undefined; next = reader.next()) requests.push(next);
  }
  return requests;
}

test('requests are parsed at any chunk boundary', () => {
  const bytes = Buffer.from(`${OPEN}write 5 6\nab\ncd\nread 0 10\nwrite 0 0\nflush\nstat\n`);
  const expected = [
    { kind: 'open', volume: 'data', token: 7, proof: PROOF },
    { kind: 'write', offset: 5, bytes: 'ab\ncd\n' },
    { kind: 'read', offset: 0, length: 10 },
    { kind: 'write', offset: 0, bytes: '' },
    { kind: 'flush' },
    { kind: 'stat' },
  ];
  fc.assert(
    fc.property(fc.array(fc.nat(200), { maxLength: 30 }), (cuts) => {
      const requests = readAll(bytes, cuts).map((request) =>
        request.kind === 'write' ? { ...request, bytes: request.bytes.toString() } : request,
      );
      assert.deepEqual(requests, expected);
    }),
  );
});

for (const line of [
  '',
  'hello',
  'read 0',
  'read 0 1 2',
  'read -1 1',
  'read 01 1',
  'read 1e3 1',
  'read 9007199254740993 1',
  `read 0 ${PAYLOAD_BYTES_MAX + 1}`,
  `write 0 ${PAYLOAD_BYTES_MAX + 1}`,
  `open ../data 1 ${PROOF}`,
  `open a/b 1 ${PROOF}`,
  `open .. 1 ${PROOF}`,
  `open Data 1 ${PROOF}`,
  `open ${'a'.repeat(254)} 1 ${PROOF}`,
  'open data 1 xyz',
  `open data -1 ${PROOF}`,
  'flush now',
  'toString 1',
])
  test(`the request ${JSON.stringify(line.slice(0, 40))} is refused`, () => {
    assert.throws(() => readAll(Buffer.from(`${line}\n`)), BadRequest);
  });

test('a line that is too long is refused, and not buffered', () => {
  assert.deepEqual(readAll(Buffer.alloc(LINE_BYTES_MAX - 1, 'a')), []);
  assert.throws(() => readAll(Buffer.alloc(LINE_BYTES_MAX, 'a')), /longer than/);
});

test('no payload is read before a volume is open', () => {
  const reader = new RequestReader();
  reader.push(Buffer.from('write 0 1000\n'));
  assert.throws(() => reader.next(), /the first request opens a volume/);
});

test('any bytes give requests, a wait for more, or a refusal', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) => {
      try {
        readAll(Buffer.from(bytes));
      } catch (error) {
        assert.ok(error instanceof BadRequest, String(error));
      }
    }),
  );
});
