import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import type { Terminal } from './command.ts';
import { requireConfirmation } from './confirmation.ts';

function attempt(
  risks: readonly string[],
  confirm: boolean,
): { readonly told: readonly string[]; readonly error: unknown } {
  const told: string[] = [];
  const terminal = { print: () => {}, tell: (line: string) => void told.push(line) } as unknown as Terminal;
  try {
    requireConfirmation(risks, 'nothing was deleted', { confirm }, terminal);
    return { told, error: undefined };
  } catch (error) {
    return { told, error };
  }
}

test('[EXS-30] [UI-01] [UI-05] a risk causes a warning, and nothing is done without --confirm', () => {
  const refused = attempt(['it may go on'], false);
  assert.deepEqual(refused.told, ['Warning: it may go on']);
  assert.ok(refused.error instanceof OperatorError);
  assert.equal(refused.error.message, 'nothing was deleted: this needs --confirm');
  assert.notEqual(refused.error.exitCode ?? 1, 0);
  assert.deepEqual(attempt(['it may go on'], true), { told: ['Warning: it may go on'], error: undefined });
  assert.deepEqual(attempt([], false), { told: [], error: undefined });
});
