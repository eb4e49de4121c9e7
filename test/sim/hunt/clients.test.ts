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

/** Where the requests of the clients meet differs from seed to seed. */
const SEEDS_TRIED = 6;

test('[TEST-07] a drawn seed with registers finds that a key is not linearizable, and nothing without the bug', () => {
  const seeds = Array.from({ length: 50 }, (_, i) => i + 1).filter((each) => planOf(each).rareRegisters !== undefined);
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-registers-'));
  const fileOf = (seed: number): string => path.join(folder, `${seed}.yaml`);
  const plays = (seed: number): { readonly rule?: string; readonly story: string } => {
    // Without faults and users, so that no other rule is first.
    writeScenario(fileOf(seed), scenarioOf({ ...planOf(seed), steps: [] }, { name: 'registers of a drawn seed' }));
    return played(fileOf(seed), 'update-without-compare');
  };
  try {
    const found = seeds.slice(0, SEEDS_TRIED).find((seed) => plays(seed).rule !== undefined);
    assert.ok(found !== undefined, `one of ${seeds.slice(0, SEEDS_TRIED).join(', ')}`);
    const { rule, story } = played(fileOf(found), 'update-without-compare');
    assert.equal(rule, CLIENT_RULE, story);
    assert.match(story, /the history of rare-register-\d is not linearizable/);
    assert.equal(played(fileOf(found), '').rule, undefined);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
