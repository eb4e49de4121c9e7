import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { CONTAINER_REFUSALS } from '../chaos/play/refusals.ts';
import { kindTable } from './kind-table.ts';

test('docs/scenarios.md lists every kind of step', () => {
  const page = readFileSync(path.resolve(import.meta.dirname, '../../docs/scenarios.md'), 'utf8');
  const table = kindTable(CONTAINER_REFUSALS);
  assert.ok(page.includes(table), `put this table into docs/scenarios.md:\n${table}`);
});
