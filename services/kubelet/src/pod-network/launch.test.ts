import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { SHARED } from './launch.ts';

const SOURCES = path.resolve(import.meta.dirname, '..');

/** The files of this service that a file imports at run time, without their ending. */
function importsOf(file: string): readonly string[] {
  const text = readFileSync(path.join(SOURCES, `${file}.ts`), 'utf8');
  const found = [...text.matchAll(/^(?:import|export)(?! type)[^;]*? from '(\.[^']+)\.ts';/gm)];
  return found.map(([, target = '']) => path.join(path.dirname(file), target));
}

test('all that the agent of the pod network imports is copied with it', () => {
  const own = globSync('pod-network/agent/*.ts', { cwd: SOURCES, exclude: ['**/*.test.ts'] });
  const copied = new Set<string>([...own.map((file) => file.replace(/\.ts$/, '')), ...SHARED]);
  assert.ok(own.length > 10);
  const missing = [...copied].flatMap((file) => importsOf(file)).filter((target) => !copied.has(target));
  assert.deepEqual(missing, []);
});
