import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { checkoutOf } from '../checkout.ts';
import { runCommand } from '../run.ts';
import { scriptArguments as chaosArguments } from './chaos.ts';
import { scriptArguments as simArguments } from './sim.ts';

const NO_WISH = { html: undefined, minutes: undefined, from: undefined, profile: 'standard' };

async function run(command: string, ...argv: readonly string[]) {
  const lines: string[] = [];
  const note = (line: string): void => void lines.push(line);
  const code = await runCommand(command, argv, { print: note, tell: note, env: {}, clock: createSystemClock() });
  return { code, text: lines.join('\n') };
}

test('sim and chaos become the scripts of the checkout', () => {
  assert.deepEqual(simArguments(['a.yaml'], { ...NO_WISH, html: 'x' }), ['--scenario', 'a.yaml', '--html', 'x']);
  const hunt = simArguments([], { ...NO_WISH, minutes: 3, from: 9, profile: 'short' });
  assert.deepEqual(hunt, ['--minutes', '3', '--profile', 'short', '--from', '9']);
  const nothing = { all: false, random: undefined, seed: undefined, html: undefined };
  assert.deepEqual(chaosArguments(['a', 'b'], { ...nothing, html: 'f' }), ['a', 'b', '--html', 'f']);
  assert.deepEqual(chaosArguments([], { ...nothing, random: 2, seed: 5 }), ['--random', '2', '--seed', '5']);
});

test('wrong arguments of sim and chaos are told with the next step', async () => {
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [['sim'], /no scenario file is named\n {2}Name one, as in `sim scenario.yaml`/],
    [['sim', 'a', 'b'], /one scenario file at a time/],
    [['sim', 'a', '--minutes', '1'], /has a seed of its own/],
    [['sim', '--minutes', '1', '--html', 'x'], /only a scenario has a timeline/],
    [['chaos'], /either files, or --all, or --random N/],
    [['chaos', 'a', '--all'], /either files/],
    [['chaos', '--all', '--seed', '1'], /--seed belongs to --random/],
  ];
  for (const [[command = '', ...argv], message] of wrong) {
    const { code, text } = await run(command, ...argv);
    assert.deepEqual([code, message.test(text)], [2, true], text);
  }
});

test('the checkout is found from any folder in it, and nothing else is taken for one', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-checkout-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const deep = path.join(folder, 'scripts', 'deep');
  mkdirSync(deep, { recursive: true });
  writeFileSync(path.join(folder, 'scripts', 'front-door.mjs'), '');
  assert.equal(checkoutOf([deep]), undefined);
  writeFileSync(path.join(folder, 'package.json'), '{"name":"other"}');
  assert.equal(checkoutOf([deep]), undefined);
  writeFileSync(path.join(folder, 'package.json'), '{"name":"holdfast"}');
  assert.equal(checkoutOf([deep]), folder);
  assert.equal(checkoutOf(['/']), undefined);
});
