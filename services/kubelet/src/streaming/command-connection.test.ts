import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTerminalSizes } from './command-connection.ts';

test('terminal sizes are parsed in any letter case, in sequence and in fragments', () => {
  const size = { width: 80, height: 24 };
  const tests: readonly (readonly [string, ReturnType<typeof readTerminalSizes>])[] = [
    ['{"Width":80,"Height":24}', { sizes: [size], rest: '' }],
    ['{"height":24,"width":80}', { sizes: [size], rest: '' }],
    ['{"Width":80,"Height":24}\n{"Width":8,"Height":4}', { sizes: [size, { width: 8, height: 4 }], rest: '' }],
    ['{"Width":80,"Height":24}{"Wid', { sizes: [size], rest: '{"Wid' }],
    ['{"Width":80}', { sizes: [], rest: '' }],
    ['{"Width":80,"Height":-1}{"Width":"80","Height":24}{"Width":65536,"Height":24}', { sizes: [], rest: '' }],
    ['nonsense}{"Width":80,"Height":24}', { sizes: [size], rest: '' }],
    ['', { sizes: [], rest: '' }],
  ];
  for (const [text, expected] of tests) assert.deepEqual(readTerminalSizes(text), expected, text);
});
