import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOWHERE, PackedBytes } from './packed-bytes.ts';
import { ParsedBudget } from './parsed-budget.ts';

const MB = 1024 * 1024;

test('contents are found at their places, whatever their sizes', () => {
  const packed = new PackedBytes(new ParsedBudget(16 * MB));
  const contents = Array.from({ length: 1_000 }, (_, i) => Buffer.alloc((i * 37) % 5_000, i));
  const places = contents.map((content) => packed.add(content));
  for (const [i, content] of contents.entries()) {
    assert.ok(packed.at(places[i] ?? NOWHERE, content.length).equals(content), `content ${i}`);
  }
  assert.equal(packed.period, 1);
  assert.equal(packed.add(Buffer.alloc(100_000)), NOWHERE);
});

test('a full budget drops all contents and begins another period', () => {
  const packed = new PackedBytes(new ParsedBudget(4 * MB));
  const content = Buffer.alloc(1_000, 7);
  let inPeriod = 0;
  while (packed.period === 1) {
    packed.add(content);
    inPeriod += 1;
  }
  assert.ok(inPeriod > 3_000 && inPeriod < (4.5 * MB) / 1_000, `${inPeriod} contents of 1,000 bytes in 4 MB`);
  const place = packed.add(content);
  assert.ok(packed.at(place, content.length).equals(content));
});
