import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { COMMANDS } from './registry.ts';
import { runCommand } from './run.ts';

test('every command takes --json, and has a summary of one line', async () => {
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    const { settings } = await load();
    assert.ok('json' in settings, name);
    assert.ok(summary.length > 0 && summary.length < 110 && !summary.includes('\n'), name);
  }
});

test('the help of every command has an example', async () => {
  for (const name of Object.keys(COMMANDS)) {
    const lines: string[] = [];
    const note = (line: string): void => void lines.push(line);
    const code = await runCommand(name, ['--help'], { print: note, tell: note, env: {}, clock: createSystemClock() });
    assert.equal(code, 0, name);
    assert.match(lines.join('\n'), new RegExp(`(?:Example: |\\$\\()holdfast ${name}\\b`), name);
  }
});
