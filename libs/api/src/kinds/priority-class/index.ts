import { type FieldError, forbidden, invalid } from '@holdfast/machinery';
import { ageColumn, integerColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { PriorityClass } from '../../generated/types.ts';
import { PRIORITY_CLASSES } from '../../refs.ts';
import { validateRequiredWord } from '../../validation/check.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { checked } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;
/** Maximum for users; the system classes are above it. */
const USER_PRIORITY_MAX = 1_000_000_000;
const SYSTEM_PREFIX = 'system-';
const SYSTEM_CLASSES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    'system-node-critical': 2_000_001_000,
    'system-cluster-critical': 2_000_000_000,
  }),
);

export const priorityClassResource = defineResource(PRIORITY_CLASSES, {
  setDefaults: (priorityClass) => {
    setDefault(priorityClass, 'preemptionPolicy', 'PreemptLowerPriority');
    setDefault(priorityClass, 'value', 0);
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checked<PriorityClass>(META, (out, priorityClass, old) => {
      if (old === undefined) validateNew(out, priorityClass);
      else validateChange(out, priorityClass, old);
    }),
    generationChanges: () => false,
    allowUnconditionalUpdate: true,
    refusesDeletion: (name) =>
      SYSTEM_CLASSES.has(name) ? 'this is a system priority class and cannot be deleted' : undefined,
  },
  columns: [
    nameColumn,
    integerColumn('Value', 'The priority of pods of this class', (c) => c.value),
    {
      name: 'Global-Default',
      type: 'boolean',
      description: 'Whether pods without a class get this one',
      priority: 0,
      cell: (c) => c.globalDefault === true,
    },
    ageColumn,
    textColumn('PreemptionPolicy', 'Whether pods of this class may evict others', (c) => c.preemptionPolicy ?? ''),
  ],
});

function validateNew(out: FieldError[], priorityClass: Readonly<PriorityClass>): void {
  const name = priorityClass.metadata.name ?? '';
  if (name.startsWith(SYSTEM_PREFIX)) {
    const problem = systemClassProblem(name, priorityClass);
    if (problem !== undefined) {
      const text = `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. error: ${problem}`;
      out.push(forbidden('metadata.name', text));
    }
  } else if (priorityClass.value > USER_PRIORITY_MAX) {
    out.push(forbidden('value', `maximum allowed value of a user defined priority is ${USER_PRIORITY_MAX}`));
  }
  validateRequiredWord(out, 'preemptionPolicy', priorityClass.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
}

function systemClassProblem(name: string, { value, globalDefault }: Readonly<PriorityClass>): string | undefined {
  const known = SYSTEM_CLASSES.get(name);
  if (known === undefined) return `${name} is not a known system priority class`;
  if (value !== known) return `value of ${name} PriorityClass must be ${known}`;
  return globalDefault === true ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

function validateChange(out: FieldError[], priorityClass: Readonly<PriorityClass>, old: Readonly<PriorityClass>): void {
  if (priorityClass.value !== old.value) out.push(forbidden('value', 'may not be changed in an update.'));
  if (priorityClass.preemptionPolicy !== old.preemptionPolicy) {
    out.push(invalid('preemptionPolicy', priorityClass.preemptionPolicy, IMMUTABLE_TEXT));
  }
}
