import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Film } from '@holdfast/client/film';
import { filmLines } from './lines.ts';
import { filmPage } from './page.ts';

const EVIL = '<b>\u001b[31m';
const STEP = { id: 0, kind: 'lost', name: 'declared not ready', fromMs: 20_000, toMs: 60_000, isOpen: true } as const;
const FILM: Film = {
  node: EVIL,
  lostMs: 0,
  fromMs: 20_000,
  toMs: 60_000,
  lanes: [{ kind: 'node', name: EVIL, steps: [STEP] }],
  left: 2,
  remarks: [{ atMs: 20_000, about: EVIL, reason: EVIL, message: EVIL }],
  waits: [`${EVIL} waits`],
};

test('names of objects are text: no markup, no control characters', () => {
  const page = filmPage([FILM], { node: EVIL, since: '10m' });
  assert.ok(!page.includes('<b>\u001b') && page.includes('&lt;b&gt;'));
  assert.ok(!filmLines(FILM).join('').includes('\u001b'));
});

test('a film is a table of steps, and a page with a picture', () => {
  assert.match(filmLines(FILM)[2] ?? '', /^20\.0s +lasts +\S+ +declared not ready/);
  const page = filmPage([FILM], { node: undefined, since: '1m' });
  assert.match(page, /<svg[\s\S]*>30s</);
  assert.match(page, /2 more pods of the node are not shown/);
});
