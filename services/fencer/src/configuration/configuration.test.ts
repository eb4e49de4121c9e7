import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ConfigurationError } from '@holdfast/client/configuration-file';
import type { Json } from '@holdfast/machinery';
import { OperatorError } from '@holdfast/platform';
import { decodeConfiguration } from './configuration.ts';
import { readConfigurationFile } from './read-file.ts';

const POWER = { name: 'power', exec: { command: ['power'] } };

test('[FENCE-04] a file is completed: missing fields of a rule get the least severe values', () => {
  const { agents, rules, maxFenced, nodeMonitorGraceSeconds } = decodeConfiguration({
    agents: [POWER],
    rules: [{ agent: 'power' }],
  });
  assert.deepEqual([maxFenced, nodeMonitorGraceSeconds], [1, 50]);
  const [agent] = agents;
  assert.deepEqual([agent?.scope, agent?.timeoutMs, agent?.servers], ['node', 30_000, []]);
  const [rule] = rules;
  assert.deepEqual([rule?.name, rule?.afterSeconds, rule?.namespaces], ['rules[0]', undefined, []]);
  assert.ok(rule?.pods.matches({ any: 'pod' }));
  assert.ok((rule?.minPriority ?? 0) < -1_000_000_000);
});

const mistakes: readonly (readonly [file: Json, complaint: RegExp])[] = [
  [[], /does not contain an object/],
  [{}, /agents: at least one is needed/],
  [{ agents: [POWER], rule: [] }, /unknown field "rule"/],
  [{ agents: 3 }, /cannot unmarshal/],
  [{ agents: [POWER, POWER] }, /"power" is there twice/],
  [{ agents: [{ name: 'x' }] }, /agents\[0\]: has to have either exec or http/],
  [{ agents: [{ ...POWER, http: { url: 'http://h/' } }] }, /either exec or http/],
  [{ agents: [{ name: 'x', exec: {} }] }, /agents\[0\]\.exec\.command: is needed/],
  [{ agents: [{ name: 'x', http: { url: 'ftp://h/' } }] }, /agents\[0\]\.http\.url: takes an http or https address/],
  [{ agents: [{ ...POWER, fences: 'pods' }] }, /fences: takes node or storage, not "pods"/],
  [{ agents: [{ ...POWER, servers: ['s'] }] }, /servers: only for agents that fence storage/],
  [{ agents: [{ ...POWER, timeoutSeconds: 0 }] }, /timeoutSeconds: must be more than 0/],
  [{ agents: [POWER], nodeMonitorGraceSeconds: 19 }, /nodeMonitorGraceSeconds: takes 20 to 3600/],
  [{ agents: [POWER], rules: [{ agent: 'none' }] }, /rules\[0\]\.agent: there is no agent "none"/],
  [{ agents: [POWER], rules: [{ agent: 'power', afterSeconds: -1 }] }, /afterSeconds: must not be negative/],
  [
    { agents: [POWER], rules: [{ agent: 'power', podSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } }] },
    /rules\[0\]\.podSelector: /,
  ],
  [{ agents: [POWER], requestAgent: 'none' }, /requestAgent: there is no agent "none"/],
  [{ agents: [POWER], maxFenced: 0 }, /maxFenced: must be 1 or more/],
];

test('all errors in the file are reported', () => {
  for (const [file, complaint] of mistakes) {
    const refused = (error: unknown): boolean => error instanceof ConfigurationError && complaint.test(error.message);
    assert.throws(() => decodeConfiguration(file), refused, JSON.stringify(file));
  }
});

test('an unusable file ends the start with the next step', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-fencer-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'fencer.yaml');
  const refused = (error: unknown): boolean =>
    error instanceof OperatorError && /docs\/fencing\.md/.test(error.nextStep);
  await assert.rejects(readConfigurationFile(file), refused);
  for (const text of ['agents: [', 'agents: []', '']) {
    writeFileSync(file, text);
    await assert.rejects(readConfigurationFile(file), refused, text);
  }
});

test('the example of the documentation is valid', async () => {
  const file = path.join(import.meta.dirname, '../../../../docs/examples/fencer.yaml');
  const { agents, rules } = await readConfigurationFile(file);
  assert.ok(agents.length > 0 && rules.length > 0);
  const page = readFileSync(path.join(import.meta.dirname, '../../../../docs/fencing.md'), 'utf8');
  assert.ok(page.includes('examples/fencer.yaml'));
});
