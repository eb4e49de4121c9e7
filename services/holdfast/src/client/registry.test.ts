import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS } from './registry.ts';

/** They print a script, a folder, or what another program prints. */
const WITHOUT_DOCUMENTS = new Set(['completion', 'envtest', 'run']);

test('every command that prints something takes --json, and every command has a summary of one line', async () => {
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    const { settings } = await load();
    assert.equal('json' in settings, !WITHOUT_DOCUMENTS.has(name), name);
    assert.ok(summary.length > 0 && summary.length < 110 && !summary.includes('\n'), name);
  }
});
