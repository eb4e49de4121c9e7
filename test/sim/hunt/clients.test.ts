import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const HOOK = pathToFileURL(path.join(import.meta.dirname, 'plant.mjs')).href;
const WORKER = path.join(import.meta.dirname, 'worker-main.ts');
const FILE = path.resolve(import.meta.dirname, '../../chaos/scenarios/clients-under-faults.yaml');

test('[TEST-07] an update without compare is found where clients write against each other', () => {
  const args = ['--import', `${HOOK}?bug=update-without-compare`, WORKER, 'replay', FILE, ''];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const { violation } = JSON.parse(stdout === '' ? '{}' : stdout);
  assert.ok(violation !== undefined, `${stdout}${stderr}`);
});
