import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered, applicable, type Draft, forced, typed } from './draft.ts';

const BEGIN: Draft = { text: 'replicas: 1', isForced: false };
const SHOWN = { yaml: 'replicas: 1' };

test('what is applied is the text whose difference was shown', () => {
  assert.equal(applicable(BEGIN), undefined);
  const shown = answered(BEGIN, BEGIN, SHOWN);
  assert.deepEqual(applicable(shown), { text: 'replicas: 1', isForced: false });
  assert.equal(applicable(typed(shown, 'replicas: 2')), undefined, 'typed after the preview');
  assert.equal(applicable(forced(shown, true)), undefined, 'a preview without force says nothing of one with it');
});

test('a preview that arrives after more was typed is not shown', () => {
  const later = typed(BEGIN, 'replicas: 2');
  assert.equal(answered(later, BEGIN, SHOWN), later);
});

test('a refusal because of owners stays while the person decides to take the fields over', () => {
  const refused = answered(BEGIN, BEGIN, { failure: 'conflict with kubectl', isConflict: true });
  assert.equal(forced(refused, true).tried?.outcome.failure, 'conflict with kubectl');
  assert.equal(applicable(forced(refused, true)), undefined);
});
