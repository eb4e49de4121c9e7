import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from './nearest.ts';

test('the nearest word is one with few wrong letters, or one that begins like it', () => {
  const words = ['history', 'status', 'snapshot', 'fence'];
  const meant: Readonly<Record<string, string | undefined>> = {
    hist: 'history',
    statu: 'status',
    stauts: 'status',
    snapsot: 'snapshot',
    fnece: 'fence',
    logs: undefined,
    s: undefined,
    '': undefined,
    completely: undefined,
  };
  for (const [word, expected] of Object.entries(meant)) assert.equal(nearest(word, words), expected, word);
});
