import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorMessage } from '@holdfast/machinery';
import type { PriorityClass } from '../../generated/types.ts';
import { priorityClassResource } from './index.ts';

const CONTEXT = { now: 0 };
const { strategy } = priorityClassResource;

function priorityClass(changes: Partial<PriorityClass> = {}, name = 'gold'): PriorityClass {
  const object: PriorityClass = {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name },
    value: 1000,
    ...changes,
  };
  priorityClassResource.setDefaults(object);
  return object;
}

const createErrors = (object: PriorityClass): readonly string[] =>
  strategy.validateCreate(object, CONTEXT).map(fieldErrorMessage);

const updateErrors = (changes: Partial<PriorityClass>): readonly string[] => {
  const old = priorityClass();
  old.metadata.resourceVersion = '1';
  const changed = { ...structuredClone(old), ...changes };
  return strategy.validateUpdate(changed, old, CONTEXT).map(fieldErrorMessage);
};

test('[PRIO-01] a class maps a name to a number', () => {
  assert.deepEqual(createErrors(priorityClass({ description: 'any text', globalDefault: true })), []);
});

test('[PRIO-02] the value of a user class is at most one billion', () => {
  assert.deepEqual(createErrors(priorityClass({ value: 1_000_000_000 })), []);
  assert.deepEqual(createErrors(priorityClass({ value: -2_147_483_648 })), []);
  assert.deepEqual(createErrors(priorityClass({ value: 1_000_000_001 })), [
    'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
  ]);
});

test('[PRIO-03] only the two system classes may have the system prefix, and only with their own values', () => {
  assert.deepEqual(createErrors(priorityClass({ value: 2_000_001_000 }, 'system-node-critical')), []);
  assert.deepEqual(createErrors(priorityClass({ value: 2_000_000_000 }, 'system-cluster-critical')), []);
  for (const name of ['system-mine', 'system-node-critical']) {
    const [error = ''] = createErrors(priorityClass({}, name));
    assert.match(error, /priority class names with 'system-' prefix are reserved for system use only/);
    const isSystemClass = name === 'system-node-critical';
    assert.equal(
      strategy.refusesDeletion?.(name) !== undefined,
      isSystemClass,
      'only a class of the system has to stay',
    );
  }
});

test('[PRIO-11] value and policy are immutable, other fields are mutable', () => {
  assert.deepEqual(updateErrors({ description: 'other', globalDefault: true }), []);
  for (const value of [7, 7_000]) {
    assert.deepEqual(updateErrors({ value }), ['value: Forbidden: may not be changed in an update.']);
  }
  assert.deepEqual(updateErrors({ preemptionPolicy: 'Never' }), [
    'preemptionPolicy: Invalid value: "Never": field is immutable',
  ]);
});

test('[PRIO-12] a class preempts unless its policy is Never', () => {
  assert.equal(priorityClass().preemptionPolicy, 'PreemptLowerPriority');
  assert.equal(priorityClass({ preemptionPolicy: 'Never' }).preemptionPolicy, 'Never');
  assert.deepEqual(createErrors(priorityClass({ preemptionPolicy: 'Sometimes' })), [
    'preemptionPolicy: Unsupported value: "Sometimes": supported values: "PreemptLowerPriority", "Never"',
  ]);
});
