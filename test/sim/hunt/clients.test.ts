import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { writeScenario } from '../../scenario/files.ts';
import { scenarioOf } from '../../scenario/plans.ts';
import { CLIENT_RULE } from './clients.ts';
import { planOf } from './plan.ts';

const HOOK = pathToFileURL(path.join(import.meta.dirname, 'plant.mjs')).href;
const WORKER = path.join(import.meta.dirname, 'worker-main.ts');
const FILE = path.resolve(import.meta.dirname, '../../chaos/scenarios/clients-under-faults.yaml');

function played(file: string, planted: string): { readonly rule?: string; readonly story: string } {
  const args = ['--import', `${HOOK}?bug=${planted}`, WORKER, 'replay', file, ''];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const { violation } = JSON.parse(stdout === '' ? '{}' : stdout);
  return { story: `${stdout}${stderr}`, ...violation };
}

test('[TEST-07] an update without compare is found where clients write against each other', () => {
  const { rule, story } = played(FILE, 'update-without-compare');
  assert.ok(rule !== undefined, story);
});

test('[TEST-07] a drawn seed with registers finds that a key is not linearizable, and nothing without the bug', () => {
  const seed = Array.from({ length: 50 }, (_, i) => i + 1).find((each) => planOf(each).rareRegisters !== undefined);
  assert.ok(seed !== undefined, 'some seeds have registers');
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-registers-'));
  const file = path.join(folder, 'plan.yaml');
  try {
    // Without faults and users, so that no other rule is first.
    writeScenario(file, scenarioOf({ ...planOf(seed), steps: [] }, { name: 'registers of a drawn seed' }));
    const { rule, story } = played(file, 'update-without-compare');
    assert.equal(rule, CLIENT_RULE, story);
    assert.match(story, /the history of rare-register-\d is not linearizable/);
    assert.equal(played(file, '').rule, undefined);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
