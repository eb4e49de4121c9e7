import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Lane, Timeline } from './model.ts';
import { renderTimeline, stacked } from './render.ts';

const LANE: Lane = {
  group: 'nodes',
  name: 'node-1',
  bars: [{ fromMs: 0, toMs: 5_000, kind: 'fault', text: 'node-1 loses its network' }],
  marks: [{ atMs: 2_500, kind: 'fact', text: 'the API says Ready: Unknown' }],
};
const TIMELINE: Timeline = {
  title: 'a node loses its network',
  facts: ['Seed 1, 10 s.'],
  fromMs: -2_000,
  toMs: 10_000,
  healedMs: 8_000,
  lanes: [LANE],
  broken: [{ atMs: 6_000, rule: 'at-most-one', story: 'db-0 lives twice' }],
};

/** The texts and the attributes of a page. Throws when elements are not closed in order, or something is not escaped. */
function parse(html: string): { readonly text: string; readonly tags: readonly string[] } {
  const open: string[] = [];
  const tags: string[] = [];
  let text = '';
  const body = html.replace(/^<!doctype html>\n/, '').replace(/<style>[^<]*<\/style>/, '');
  for (const [, closing, name = '', attributes = '', own, words] of body.matchAll(
    /<(\/?)([a-z0-9]+)((?: [a-z-]+="[^"<>]*")*)(\/?)>|([^<>]+)/gy,
  )) {
    if (words !== undefined) text += words;
    else if (closing === '/') assert.equal(open.pop(), name, `</${name}>`);
    else {
      tags.push(`${name}${attributes}`);
      if (own !== '/') open.push(name);
    }
  }
  assert.deepEqual(open, [], 'every element is closed');
  const isRead = body.replaceAll(/<(\/?)([a-z0-9]+)((?: [a-z-]+="[^"<>]*")*)(\/?)>|([^<>]+)/g, '') === '';
  assert.ok(isRead, 'nothing else is in the page');
  return { text, tags };
}

test('a timeline has its lanes, faults, times and the broken rule in words', () => {
  const { text, tags } = parse(renderTimeline(TIMELINE));
  for (const words of ['Broken at 6 s: at-most-one', 'db-0 lives twice', 'node-1 loses its network', 'Seed 1, 10 s.'])
    assert.ok(text.includes(words), words);
  const bar = tags.find((tag) => tag.includes('bar fault s0') && tag.includes('left'));
  assert.match(bar ?? '', /left:16\.667%;width:41\.667%/);
  assert.match(tags.find((tag) => tag.includes('line violation')) ?? '', /left:66\.667%/);
  const whole = parse(renderTimeline({ ...TIMELINE, broken: [] }));
  assert.ok(whole.text.includes('No rule is broken.'));
});

test('a timeline is one file: it loads nothing and runs nothing', () => {
  const { tags } = parse(renderTimeline(TIMELINE));
  const elements = new Set(tags.map((tag) => tag.replace(/ .*/, '')));
  for (const name of ['script', 'link', 'img', 'iframe', 'a', 'object']) assert.ok(!elements.has(name), name);
  assert.ok(tags.some((tag) => tag.includes('default-src &#39;none&#39;') || tag.includes("default-src 'none'")));
  assert.doesNotMatch(renderTimeline(TIMELINE), /url\(|@import|https?:/);
});

test('names of objects are text, whatever they contain', () => {
  const hostile = fc.string({
    unit: fc.oneof(fc.constantFrom('<', '>', '"', "'", '&', '\0', '\ud800', '</style>', '<!--', ']]>'), fc.string()),
  });
  fc.assert(
    fc.property(hostile, (name) => {
      const lane = { ...LANE, group: name, name, bars: [{ ...LANE.bars[0]!, text: name }], marks: [] };
      const page = renderTimeline({
        ...TIMELINE,
        title: name,
        facts: [name],
        lanes: [lane],
        broken: [{ rule: name, story: name }],
      });
      parse(page);
      assert.ok(page.isWellFormed());
    }),
    { seed: 1, numRuns: 300 },
  );
});

test('bars that overlap lie in rows', () => {
  const bar = (fromMs: number, toMs: number) => ({ fromMs, toMs, kind: 'life' as const, text: '' });
  assert.deepEqual(
    stacked([bar(0, 10), bar(12, 20), bar(5, 15), bar(10, 11)]).map(({ bar: { fromMs }, row }) => [fromMs, row]),
    [
      [0, 0],
      [5, 1],
      [10, 0],
      [12, 0],
    ],
  );
});

test('a page has a bounded number of events', () => {
  const marks = Array.from({ length: 10_000 }, (_, atMs) => ({ atMs, kind: 'fact' as const, text: `fact ${atMs}` }));
  const { text, tags } = parse(renderTimeline({ ...TIMELINE, lanes: [{ ...LANE, marks }] }));
  assert.match(text, /the last 2000 of 10002/);
  assert.ok(tags.length < 15_000, String(tags.length));
});
