import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from './errors.ts';
import { readFeatureGates } from './feature-gates.ts';

const DEFAULTS = { Calm: true, Bold: false };

test('gates change only the features that they name', () => {
  assert.deepEqual(readFeatureGates(undefined, DEFAULTS), DEFAULTS);
  assert.deepEqual(readFeatureGates(' Bold = true ,', DEFAULTS), { Calm: true, Bold: true });
  assert.deepEqual(readFeatureGates('Bold=true,Calm=false', DEFAULTS), { Calm: false, Bold: true });
});

test('an unknown gate, or one that is neither true nor false, is refused by name', () => {
  for (const text of ['Nope=true', 'Bold', 'Bold=yes', 'Bold=true=false', 'toString=true', '=true']) {
    assert.throws(
      () => readFeatureGates(text, DEFAULTS),
      (error) => error instanceof OperatorError && error.message.includes(`"${text}"`) && error.exitCode === 2,
    );
  }
});
