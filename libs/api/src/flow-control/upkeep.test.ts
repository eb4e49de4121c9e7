import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { DEFAULT_FEATURES, FLOW_SCHEMAS, findResource, PRIORITY_LEVEL_CONFIGURATIONS } from '../index.ts';
import { BOOTSTRAP_PRIORITY_LEVELS, CATCH_ALL_PRIORITY_LEVEL } from './bootstrap-levels.ts';
import { BOOTSTRAP_FLOW_SCHEMAS, EXEMPT_FLOW_SCHEMA } from './bootstrap-schemas.ts';
import { AUTOUPDATE_SPEC, danglingCondition, isObsolete, upToDate } from './upkeep.ts';

const SUGGESTED = BOOTSTRAP_FLOW_SCHEMAS.find(({ name }) => name === 'global-default') ?? EXEMPT_FLOW_SCHEMA;
const OTHER_SPEC = { ...SUGGESTED.spec, matchingPrecedence: 8_000 };

interface Case {
  readonly annotation?: string;
  readonly generation?: number;
  readonly isChanged?: boolean;
  readonly isMandatory?: boolean;
}

function outcome({ annotation, generation = 1, isChanged = false, isMandatory = false }: Case): unknown {
  const annotations = annotation === undefined ? {} : { annotations: { [AUTOUPDATE_SPEC]: annotation } };
  const stored = { metadata: { generation, ...annotations }, spec: isChanged ? OTHER_SPEC : SUGGESTED.spec };
  const better = upToDate(stored, { ...SUGGESTED, isMandatory });
  if (better === undefined) return 'left';
  const said = (better.metadata.annotations as Record<string, string> | undefined)?.[AUTOUPDATE_SPEC];
  return `${said}, ${better.spec === SUGGESTED.spec ? 'restored' : 'as it was'}`;
}

test('the spec of a suggested object is reconciled until a user takes it over', () => {
  assert.equal(outcome({ annotation: 'true' }), 'left');
  assert.equal(outcome({ annotation: 'true', isChanged: true, generation: 2 }), 'true, restored');
  assert.equal(outcome({ annotation: 'false', isChanged: true }), 'left');
  assert.equal(outcome({ isChanged: true }), 'true, restored');
  assert.equal(outcome({ isChanged: true, generation: 2 }), 'false, as it was');
  assert.equal(outcome({ annotation: 'perhaps', isChanged: true, generation: 2 }), 'false, as it was');
  assert.equal(outcome({ annotation: '1' }), 'left');
});

test('the spec of a mandatory object is always restored, and its annotation says so', () => {
  assert.equal(outcome({ annotation: 'false', isChanged: true, generation: 9, isMandatory: true }), 'true, restored');
  assert.equal(outcome({ annotation: 'true', isMandatory: true }), 'left');
});

test('an API server removes only objects that it created and no longer needs', () => {
  const made = (name: string, annotation?: string): Parameters<typeof isObsolete>[0] => ({
    metadata: { name, ...(annotation === undefined ? {} : { annotations: { [AUTOUPDATE_SPEC]: annotation } }) },
  });
  const known = new Set(['probes']);
  assert.equal(isObsolete(made('old', 'true'), known), true);
  assert.deepEqual(
    [made('old', 'false'), made('old'), made('old', 'x'), made('probes', 'true')].map((each) =>
      isObsolete(each, known),
    ),
    [false, false, false, false],
  );
});

test('the condition of a schema reports once whether its priority level exists', () => {
  const spec = { priorityLevelConfiguration: { name: 'p' } };
  const first = danglingCondition({ spec, status: {} }, false, '2026-01-01T00:00:00Z');
  assert.deepEqual(first, {
    type: 'Dangling',
    status: 'True',
    reason: 'NotFound',
    message: 'This FlowSchema references the PriorityLevelConfiguration object named "p" but there is no such object',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const status = { conditions: [first ?? {}] };
  assert.equal(danglingCondition({ spec, status }, false, 'later'), undefined);
  assert.equal(danglingCondition({ spec, status }, true, 'later')?.status, 'False');
});

test('the mandatory objects are valid, complete, and refer only to mandatory levels', () => {
  const levels = new Set(BOOTSTRAP_PRIORITY_LEVELS.map(({ name }) => name));
  const rows = [
    ...BOOTSTRAP_FLOW_SCHEMAS.map((each) => ({ ref: FLOW_SCHEMAS, kind: 'FlowSchema', ...each })),
    ...BOOTSTRAP_PRIORITY_LEVELS.map((each) => ({
      ref: PRIORITY_LEVEL_CONFIGURATIONS,
      kind: 'PriorityLevelConfiguration',
      ...each,
    })),
  ];
  for (const { ref, kind, name, spec } of rows) {
    const definition = findResource(ref.group, ref.version, ref.plural);
    assert.ok(definition !== undefined);
    const apiVersion = `${ref.group}/${ref.version}`;
    const object = structuredClone({ apiVersion, kind, metadata: { name }, spec, status: {} });
    definition.setDefaults(object);
    assert.deepEqual(object.spec, spec, `${name} needs no defaults`);
    assert.deepEqual(definition.strategy.validateCreate(object, { ...DEFAULT_FEATURES, now: 0 }), [], name);
  }
  for (const { spec } of BOOTSTRAP_FLOW_SCHEMAS) assert.ok(levels.has(spec.priorityLevelConfiguration.name));
  assert.equal(CATCH_ALL_PRIORITY_LEVEL.spec.limited?.limitResponse?.type, 'Reject');
});
