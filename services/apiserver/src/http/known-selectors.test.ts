import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { parseLabelSelector, SelectorError } from '@holdfast/machinery';
import { KNOWN_SELECTORS_CHARS_MAX } from '../limits.ts';
import { KnownSelectors } from './known-selectors.ts';

function counting() {
  const parsed: string[] = [];
  const selectors = new KnownSelectors((text) => {
    parsed.push(text);
    return parseLabelSelector(text);
  });
  return { selectors, parsed };
}

/** A selector of about so many characters. */
const long = (label: string, chars: number): string =>
  Array.from({ length: chars / 10 }, (_, index) => `!${label}${String(index).padStart(7, '0')}`).join(',');

test('a selector that hundreds of watches use is parsed once', () => {
  const { selectors, parsed } = counting();
  const text = long('k', 30_000);
  const all = Array.from({ length: 300 }, () => selectors.parse(text));
  assert.deepEqual(parsed, [text]);
  assert.ok(all.every((each) => each === all[0]));
  assert.equal(all[0]?.matches({ k0000001: 'v' }), false);
  assert.equal(all[0]?.matches({ other: 'v' }), true);
});

test('the cache is bounded and evicts the least recently used selector', () => {
  const { selectors, parsed } = counting();
  const texts = ['a', 'b', 'c', 'd'].map((label) => long(label, KNOWN_SELECTORS_CHARS_MAX / 4 - 100));
  for (const text of texts) selectors.parse(text);
  selectors.parse(texts[0] ?? '');
  for (let index = 0; index < 2; index += 1) selectors.parse(long(`n${index}`, KNOWN_SELECTORS_CHARS_MAX / 4 - 100));
  assert.ok(selectors.chars <= KNOWN_SELECTORS_CHARS_MAX, `${selectors.chars} characters`);
  parsed.length = 0;
  selectors.parse(texts[0] ?? '');
  assert.deepEqual(parsed, []);
  selectors.parse(texts[1] ?? '');
  assert.deepEqual(parsed, [texts[1]]);
});

test('a selector that cannot be parsed is refused each time and not cached', () => {
  const { selectors, parsed } = counting();
  for (let round = 0; round < 2; round += 1) assert.throws(() => selectors.parse('a in ('), SelectorError);
  assert.deepEqual([parsed.length, selectors.chars], [2, 0]);
});

test('the cache also bounds many short selectors', () => {
  const { selectors, parsed } = counting();
  const count = KNOWN_SELECTORS_CHARS_MAX / 16;
  for (let index = 0; index < count; index += 1) selectors.parse(`k${index}`);
  parsed.length = 0;
  selectors.parse('k0');
  assert.deepEqual(parsed, ['k0'], 'the first is forgotten');
});
