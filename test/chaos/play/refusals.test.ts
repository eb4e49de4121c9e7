import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readScenario } from '../../scenario/files.ts';
import { parseScenario } from '../../scenario/parse.ts';
import { KINDS, type StepKind } from '../../sim/hunt/kinds.ts';
import { canContainers } from './actions.ts';
import { CONTAINER_REFUSALS, refusalsOf } from './refusals.ts';

test('each kind is either done on containers or refused with a reason', () => {
  for (const kind of Object.keys(KINDS) as StepKind[])
    assert.equal(canContainers(kind), CONTAINER_REFUSALS[kind] === undefined, kind);
});

test('all scenario files of the suite run on containers', () => {
  const folder = path.resolve(import.meta.dirname, '../scenarios');
  for (const file of globSync('**/*.yaml', { cwd: folder }))
    assert.deepEqual(refusalsOf(readScenario(path.join(folder, file))), [], file);
});

test('what containers cannot do is said before the start, one sentence each', () => {
  const scenario = parseScenario(`name: too much
length: 60s
form: { nodes: 4, fencer: true }
schedule:
  - { at: 1s, do: disk-full, target: node-1, for: 5s }
  - { at: 2s, do: disk-full, target: node-2, for: 5s }
  - { at: 3s, do: pause, target: observer, for: 5s }
  - { at: 3s, do: clock-jump, target: [node-1, apiserver], jump: 5s }
  - { at: 3s, do: clock-slow, target: [node-1, apiserver], for: 5s, thousandths: 2 }
  - { at: 4s, do: evict, target: web, when: pod-bound, lag: 1s }
`);
  assert.deepEqual(refusalsOf(scenario), [
    'form.nodes: the compose form has 3, and the file asks for 4.',
    'form.fencer: the compose form has false, and the file asks for true.',
    'disk-full: containers cannot do this: the processes of pods are no containers in the compose form.',
    'target observer: the compose form has no follower that could be disturbed.',
    'when: nobody sees the moments of containers in time; give the step a time of its own.',
  ]);
});

test('what only the other form of containers can do is refused with the way to it', () => {
  const zones = 'form: { apiServers: 3, schedulers: 3, controllerManagers: 3 }';
  const refused = (form: string, step: string): readonly string[] =>
    refusalsOf(parseScenario(`name: one\nlength: 60s\n${form}\nschedule:\n  - { at: 1s, for: 5s, ${step} }\n`));
  for (const kind of ['zone-cut', 'zone-loss', 'zone-upgrade']) {
    assert.deepEqual(refused(zones, `do: ${kind}, target: zone-3`), []);
    const [why = '', ...others] = refused('', `do: ${kind}, target: zone-2`);
    assert.match(why, /one Redis has no zones; ask for 3 API servers/);
    assert.deepEqual(others, []);
  }
  assert.match(refused(zones, 'do: store-slow, target: apiserver, delay: 1s')[0] ?? '', /use slow-link or zone-cut/);
  assert.deepEqual(refused('', 'do: store-slow, target: apiserver, delay: 1s'), []);
});
