import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { editsOf, PLANTED_BUGS, plantInto } from '../../test/sim/hunt/planted.mjs';

const ROOT = path.resolve(import.meta.dirname, '../..');

test('every planted bug matches the current sources, in one place', () => {
  for (const bug of PLANTED_BUGS) {
    for (const edit of editsOf(bug)) {
      const source = readFileSync(path.join(ROOT, edit.file), 'utf8');
      assert.notEqual(plantInto(edit, source), source, bug.name);
    }
  }
  assert.equal(new Set(PLANTED_BUGS.map(({ name }) => name)).size, PLANTED_BUGS.length);
});
