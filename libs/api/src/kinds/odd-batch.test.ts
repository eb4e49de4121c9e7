import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorMessage, type JsonObject } from '@holdfast/machinery';
import { allResources } from '../registry.ts';
import type { KubeObject } from '../resource.ts';
import { changeRefusals, compareTexts, refusals, row, stored } from './testing.ts';

type Case = readonly [spec: JsonObject, errors: readonly string[]];

const NEGATIVE = 'must be greater than or equal to 0';
const template = (spec: JsonObject = {}, labels?: JsonObject): JsonObject => ({
  metadata: labels === undefined ? {} : { labels },
  spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }], ...spec },
});
const job = (spec: JsonObject = {}, metadata: JsonObject = {}, status: JsonObject = {}): JsonObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'x', namespace: 'n', uid: 'u', ...metadata },
  spec: { template: template(), ...spec },
  status,
});
const check = (cases: readonly Case[]): void => {
  for (const [spec, errors] of cases) compareTexts(refusals(job(spec)), errors, JSON.stringify(spec));
};
const indexed = (rest: JsonObject): JsonObject => ({ completionMode: 'Indexed', completions: 3, ...rest });
const noDeadEnd = 'must be less than or equal to';

test('jobs: counts and modes', () => {
  check([
    [
      { parallelism: -1, completions: -1, activeDeadlineSeconds: -1, backoffLimit: -1, ttlSecondsAfterFinished: -1 },
      [
        `spec.parallelism: Invalid value: -1: ${NEGATIVE}`,
        `spec.completions: Invalid value: -1: ${NEGATIVE}`,
        `spec.activeDeadlineSeconds: Invalid value: -1: ${NEGATIVE}`,
        `spec.backoffLimit: Invalid value: -1: ${NEGATIVE}`,
        `spec.ttlSecondsAfterFinished: Invalid value: -1: ${NEGATIVE}`,
      ],
    ],
    [
      { maxFailedIndexes: 1 },
      [
        'spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified',
        'spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode',
      ],
    ],
    [{ backoffLimitPerIndex: 1 }, ['spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode']],
    [
      { completionMode: 'Foo' },
      ['spec.completionMode: Unsupported value: "Foo": supported values: "NonIndexed", "Indexed"'],
    ],
    [{ completionMode: 'Indexed' }, []],
    [
      { completionMode: 'Indexed', parallelism: 2 },
      ['spec.completions: Required value: when completion mode is Indexed'],
    ],
    [
      indexed({ parallelism: 100_001 }),
      [`spec.parallelism: Invalid value: 100001: ${noDeadEnd} 100000 when completion mode is Indexed`],
    ],
    [
      indexed({ maxFailedIndexes: 100_001, backoffLimitPerIndex: 1 }),
      [
        `spec.maxFailedIndexes: Invalid value: 100001: ${noDeadEnd} completions`,
        `spec.maxFailedIndexes: Invalid value: 100001: ${noDeadEnd} 100000`,
      ],
    ],
    [
      indexed({ completions: 100_001, backoffLimitPerIndex: 1, parallelism: 10_001 }),
      [
        'spec.maxFailedIndexes: Required value: must be specified when completions is above 100000',
        `spec.parallelism: Invalid value: 10001: ${noDeadEnd} 10000 when completions are above 100000 and used with backoff limit per index`,
      ],
    ],
    [{ managedBy: '' }, ['spec.managedBy: Required value']],
    [
      { managedBy: 'a' },
      ['spec.managedBy: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")'],
    ],
    [{ managedBy: `a.b/${'x'.repeat(60)}` }, ['spec.managedBy: Too long: may not be more than 63 bytes']],
    [
      { podReplacementPolicy: 'A' },
      ['spec.podReplacementPolicy: Unsupported value: "A": supported values: "Failed", "TerminatingOrFailed"'],
    ],
    [
      { template: template({ restartPolicy: 'Always' }) },
      ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      { manualSelector: true },
      [
        'spec.selector: Required value',
        'spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`',
      ],
    ],
  ]);
  compareTexts(
    refusals(job(indexed({}), { name: 'a.b' })),
    ['metadata.name: Invalid value: "a.b": will not able to create pod with invalid DNS label: a.b-2'],
    'index names',
  );
});

test('jobs: failure and success policies', () => {
  const failing = (...rules: JsonObject[]): JsonObject => ({ podFailurePolicy: { rules } });
  const codes = (onExitCodes: JsonObject): JsonObject => failing({ action: 'Ignore', onExitCodes });
  const at = 'spec.podFailurePolicy.rules[0]';
  const won = (...rules: JsonObject[]): JsonObject => indexed({ successPolicy: { rules } });
  const rule = 'spec.successPolicy.rules[0]';
  check([
    [
      failing({}),
      [
        `${at}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`,
        `${at}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`,
      ],
    ],
    [
      failing({ action: 'FailIndex', onPodConditions: [{ type: 'A' }] }),
      [`${at}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`],
    ],
    [
      failing({ action: 'A', onPodConditions: [{ type: 'A b', status: 'x' }] }),
      [
        `${at}.action: Unsupported value: "A": supported values: "Count", "FailIndex", "FailJob", "Ignore"`,
        `${at}.onPodConditions[0].type: Invalid value: "A b": name part must…`,
        `${at}.onPodConditions[0].status: Unsupported value: "x": supported values: "False", "True", "Unknown"`,
      ],
    ],
    [
      codes({}),
      [
        `${at}.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]`,
        `${at}.onExitCodes.values: Invalid value: []int32(nil): at least one value is required`,
      ],
    ],
    [
      codes({ operator: 'In', values: [0, 3, 2, 3], containerName: 'z' }),
      [
        `${at}.onExitCodes.containerName: Invalid value: "z": must be one of the container or initContainer names in the pod template`,
        `${at}.onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator`,
        `${at}.onExitCodes.values[3]: Duplicate value: 3`,
        `${at}.onExitCodes.values: Invalid value: []int32{0, 3, 2, 3}: must be ordered`,
      ],
    ],
    [
      { ...codes({ operator: 'In', values: [1] }), template: template({ restartPolicy: 'OnFailure' }) },
      [
        'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified',
      ],
    ],
    [
      { ...codes({ operator: 'In', values: [1] }), podReplacementPolicy: 'TerminatingOrFailed' },
      ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
    ],
    [
      { successPolicy: { rules: [] } },
      [
        'spec.successPolicy: Invalid value: batch.SuccessPolicy{Rules:[]batch.SuccessPolicyRule{}}: requires indexed completion mode',
      ],
    ],
    [
      won(),
      [
        'spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is specified',
      ],
    ],
    [won({}), [`${rule}: Required value: at least one of succeededCount or succeededIndexes must be specified`]],
    [
      won({ succeededIndexes: '0,2-1' }),
      [
        `${rule}.succeededIndexes: Invalid value: "0,2-1": error parsing succeededIndexes: non-increasing order, previous: 2, current: 1`,
      ],
    ],
    [
      won({ succeededIndexes: '1-2-3' }),
      [
        `${rule}.succeededIndexes: Invalid value: "1-2-3": error parsing succeededIndexes: the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`,
      ],
    ],
    [
      won({ succeededIndexes: 'a' }),
      [
        `${rule}.succeededIndexes: Invalid value: "a": error parsing succeededIndexes: cannot convert string to integer for index: "a"`,
      ],
    ],
    [
      won({ succeededIndexes: '9223372036854775808' }),
      [
        `${rule}.succeededIndexes: Invalid value: "9223372036854775808": error parsing succeededIndexes: cannot convert string to integer for index: "9223372036854775808"`,
      ],
    ],
    [
      won({ succeededIndexes: '1,1' }),
      [
        `${rule}.succeededIndexes: Invalid value: "1,1": error parsing succeededIndexes: non-increasing order, previous: 1, current: 1`,
      ],
    ],
    [
      won({ succeededIndexes: '0-3', succeededCount: 1 }),
      [
        `${rule}.succeededIndexes: Invalid value: "0-3": error parsing succeededIndexes: too large index: "3"`,
        `${rule}.succeededCount: Invalid value: 1: must be less than or equal to 0 (the number of indexes in the specified succeededIndexes field)`,
      ],
    ],
    [
      won({ succeededCount: 4 }),
      [
        `${rule}.succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of specified completions)`,
      ],
    ],
    [won({ succeededCount: -1 }), [`${rule}.succeededCount: Invalid value: -1: ${NEGATIVE}`]],
  ]);
});

test('jobs: generated fields', () => {
  const labels = (value: unknown): unknown => (value as { metadata: { labels: unknown } }).metadata.labels;
  const own = {
    'controller-uid': 'u',
    'job-name': 'x',
    'batch.kubernetes.io/controller-uid': 'u',
    'batch.kubernetes.io/job-name': 'x',
  };
  assert.deepEqual(labels(stored(job())), own);
  // When the job has no labels, it shares the map of its template.
  assert.deepEqual(labels(stored(job({ template: template({}, { a: 'b' }) }))), { a: 'b', ...own });
  assert.deepEqual(labels(stored(job({ template: template({}, { a: 'b' }) }, { labels: { c: 'd' } }))), { c: 'd' });
  const wrong = { 'job-name': 'y' };
  const shown =
    'map[string]string{"batch.kubernetes.io/controller-uid":"u", "batch.kubernetes.io/job-name":"x", "controller-uid":"u", "job-name":"y"}';
  assert.deepEqual(refusals(job({ template: template({}, wrong) })), [
    `spec.template.metadata.labels[job-name]: Invalid value: ${shown}: must be 'x'`,
  ]);
  compareTexts(
    refusals(job({ selector: { matchLabels: { a: 'b' } }, template: template({}, { a: 'b' }) })),
    [
      'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"a":"b", "batch.kubernetes.io/controller-uid":"u"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: `selector` not auto-generated',
    ],
    'a selector of the user',
  );
});

test('jobs: allowed updates', () => {
  const before = stored(job({ completions: 2 })) as unknown as JsonObject;
  const spec = before['spec'] as JsonObject;
  const after = (changes: JsonObject): JsonObject => ({ ...before, spec: { ...spec, ...changes } });
  const refused = (changes: JsonObject): readonly string[] => changeRefusals(before, after(changes));
  assert.deepEqual(
    refused({ parallelism: -1 }),
    Array.from({ length: 2 }, () => `spec.parallelism: Invalid value: -1: ${NEGATIVE}`),
  );
  assert.deepEqual(refused({ completions: 3 }), ['spec.completions: Invalid value: 3: field is immutable']);
  assert.deepEqual(refused({ managedBy: 'a.b/c' }), ['spec.managedBy: Invalid value: "a.b/c": field is immutable']);
  assert.deepEqual(refused({ podFailurePolicy: { rules: [] }, podReplacementPolicy: 'Failed' }), [
    'spec.podFailurePolicy: Invalid value: batch.PodFailurePolicy{Rules:[]batch.PodFailurePolicyRule{}}: field is immutable',
  ]);
  assert.deepEqual(
    refused({ suspend: true, ttlSecondsAfterFinished: 5, activeDeadlineSeconds: 9, backoffLimit: 2 }),
    [],
  );
});

test('jobs: allowed status changes', () => {
  const is = (...types: string[]): JsonObject[] => types.map((type) => ({ type, status: 'True' }));
  const time = '2024-01-02T03:04:05Z';
  const done = { startTime: time, completionTime: time, conditions: is('SuccessCriteriaMet', 'Complete') };
  const became = (spec: JsonObject, old: JsonObject, status: JsonObject): readonly string[] =>
    changeRefusals(job(spec, {}, old), job(spec, {}, status), 'status');
  const on = (status: JsonObject): readonly string[] => became({}, {}, status);
  assert.deepEqual(on(done), []);
  assert.deepEqual(on({ conditions: is('Complete') }), [
    'status.completionTime: Required value: completionTime is required for Complete jobs',
    'status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
    'status.startTime: Required value: startTime is required for finished job',
  ]);
  assert.deepEqual(on({ startTime: time, conditions: is('Failed') }), [
    'status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition',
  ]);
  assert.deepEqual(on({ completionTime: time }), [
    'status.completionTime: Invalid value: 2024-01-02 03:04:05 +0000 UTC: cannot set completionTime when there is no Complete=True condition',
  ]);
  assert.deepEqual(on({ ...done, active: 1, terminating: 1 }), [
    'status.active: Invalid value: 1: active>0 is invalid for finished job',
    'status.terminating: Invalid value: 1: terminating>0 is invalid for finished job',
  ]);
  assert.deepEqual(on({ ready: 1 }), ['status.ready: Invalid value: 1: cannot set more ready pods than active']);
  assert.deepEqual(on({ active: -1, failed: -1 }), [
    `status.active: Invalid value: -1: ${NEGATIVE}`,
    `status.failed: Invalid value: -1: ${NEGATIVE}`,
    'status.failed: Invalid value: -1: cannot decrease the failed counter',
  ]);
  assert.deepEqual(on({ completedIndexes: '0' }), [
    'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
  ]);
  assert.deepEqual(on({ uncountedTerminatedPods: { succeeded: ['', 'a'], failed: ['a'] } }), [
    'status.uncountedTerminatedPods.succeeded[0]: Invalid value: "": must not be empty',
    'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
  ]);
  assert.deepEqual(on({ startTime: time, conditions: is('SuccessCriteriaMet', 'FailureTarget') }), [
    'status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions',
  ]);
  const many = indexed({ backoffLimitPerIndex: 1 });
  assert.deepEqual(became(many, {}, { completedIndexes: '0-1', failedIndexes: '1,9' }), [
    'status.failedIndexes: Invalid value: "1,9": error parsing failedIndexes: too large index: "9"',
    'status.failedIndexes: Invalid value: "1,9": failedIndexes and completedIndexes overlap at index: 1',
  ]);
});

test('jobs: status column of a table', () => {
  const shown = (status: JsonObject, spec: JsonObject = {}): unknown[] => {
    const cells = row(job(spec, {}, status));
    return [cells['Status'], cells['Completions'], cells['Duration']];
  };
  const is = (type: string, status = 'True'): JsonObject => ({ conditions: [{ type, status }] });
  assert.deepEqual(shown({}), ['Running', '0/1', '']);
  assert.deepEqual(shown({ succeeded: 2 }, { parallelism: 3 }), ['Running', '2/1 of 3', '']);
  assert.deepEqual(shown(is('Suspended')), ['Suspended', '0/1', '']);
  assert.deepEqual(shown(is('FailureTarget')), ['FailureTarget', '0/1', '']);
  assert.deepEqual(shown(is('SuccessCriteriaMet')), ['SuccessCriteriaMet', '0/1', '']);
  assert.deepEqual(shown(is('Complete', 'False')), ['Running', '0/1', '']);
  const times = { startTime: '2023-11-14T22:00:00Z', completionTime: '2023-11-14T22:01:30Z' };
  assert.deepEqual(shown({ ...is('Complete'), ...times }), ['Complete', '0/1', '90s']);
});

test('cron jobs: refused fields', () => {
  const cron = (spec: JsonObject, name = 'x'): JsonObject => ({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name, namespace: 'n' },
    spec: { schedule: '* * * * *', jobTemplate: { spec: { template: template() } }, ...spec },
  });
  const zone = (name: string): JsonObject => ({ timeZone: name });
  const bad = (text: string, detail: string): string => `spec.timeZone: Invalid value: "${text}": ${detail}`;
  const cases: readonly Case[] = [
    [{ schedule: '' }, ['spec.schedule: Required value']],
    [{ schedule: `${'0,'.repeat(2_100)} * * * *` }, ['spec.schedule: Too long: may not be more than 4096 bytes']],
    [{ schedule: '* *' }, ['spec.schedule: Invalid value: "* *": expected exactly 5 fields, found 2: [* *]']],
    [
      { schedule: 'a-b-c * * * *' },
      [
        'spec.schedule: Invalid value: "a-b-c * * * *": failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax',
      ],
    ],
    [{ schedule: '1-2-3 * * * *' }, ['spec.schedule: Invalid value: "1-2-3 * * * *": too many hyphens: 1-2-3']],
    [
      { schedule: '@every x' },
      ['spec.schedule: Invalid value: "@every x": failed to parse duration @every x: time: invalid duration "x"'],
    ],
    [
      { schedule: '@every 5' },
      [
        'spec.schedule: Invalid value: "@every 5": failed to parse duration @every 5: time: missing unit in duration "5"',
      ],
    ],
    [{ schedule: '@often' }, ['spec.schedule: Invalid value: "@often": unrecognized descriptor: @often']],
    [
      { schedule: 'TZ=UTC * * * * *' },
      [
        'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
      ],
    ],
    [
      { schedule: 'TZ=No/Where * * * * *' },
      [
        'spec.schedule: Invalid value: "TZ=No/Where * * * * *": provided bad location No/Where: unknown time zone No/Where',
        'spec.schedule: Invalid value: "TZ=No/Where * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
      ],
    ],
    [zone(''), [bad('', 'timeZone must be nil or non-empty string')]],
    [
      zone('Local'),
      [bad('Local', 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones')],
    ],
    [
      zone('local'),
      [
        bad('local', 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'),
        bad('local', 'unknown time zone local'),
      ],
    ],
    [zone('asia/tokyo'), [bad('asia/tokyo', 'unknown time zone asia/tokyo')]],
    [zone('+01'), [bad('+01', 'unknown time zone +01')]],
    [zone('Asia/../x'), [bad('Asia/../x', 'unknown time zone Asia/../x')]],
    [zone('Asia/Tokyo'), []],
    [
      {
        concurrencyPolicy: 'A',
        startingDeadlineSeconds: -1,
        failedJobsHistoryLimit: -1,
        successfulJobsHistoryLimit: -1,
      },
      [
        `spec.startingDeadlineSeconds: Invalid value: -1: ${NEGATIVE}`,
        'spec.concurrencyPolicy: Unsupported value: "A": supported values: "Allow", "Forbid", "Replace"',
        `spec.successfulJobsHistoryLimit: Invalid value: -1: ${NEGATIVE}`,
        `spec.failedJobsHistoryLimit: Invalid value: -1: ${NEGATIVE}`,
      ],
    ],
    [
      { jobTemplate: { spec: { template: template(), manualSelector: true, selector: {} } } },
      [
        'spec.jobTemplate.spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: `selector` will be auto-generated',
        'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
      ],
    ],
  ];
  for (const [spec, errors] of cases) compareTexts(refusals(cron(spec)), errors, JSON.stringify(spec));
  const long = 'a'.repeat(53);
  assert.deepEqual(refusals(cron({ schedule: '' }, long)), [
    'spec.schedule: Required value',
    `metadata.name: Invalid value: "${long}": must be no more than 52 characters`,
  ]);
  assert.deepEqual(changeRefusals(cron({}, long), cron({ suspend: true }, long)), []);
  const old = cron({ schedule: 'TZ=UTC 0 * * * *' });
  assert.deepEqual(changeRefusals(old, cron({ schedule: 'TZ=UTC 1 * * * *', timeZone: 'UTC' })), [
    'spec.schedule: Invalid value: "TZ=UTC 1 * * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule',
  ]);
  assert.deepEqual(row(cron({ suspend: true })), {
    Name: 'x',
    Schedule: '* * * * *',
    Timezone: '<none>',
    Suspend: 'True',
    Active: 0,
    'Last Schedule': '<none>',
    Age: '<unknown>',
    Containers: 'c',
    Images: 'i',
    Selector: '<none>',
  });
});

test('only a resumed job may get a new start time', () => {
  const conditions = (status: string): JsonObject => ({
    conditions: [{ type: 'Suspended', status, lastProbeTime: null, lastTransitionTime: '2024-05-06T07:08:09Z' }],
  });
  const run = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] };
  const withStatus = (status: JsonObject): JsonObject => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'j', namespace: 'n', uid: 'u' },
    spec: { template: { spec: run } },
    status,
  });
  const [first, second] = [{ startTime: '2024-05-06T07:08:09Z' }, { startTime: '2024-05-06T08:08:09Z' }];
  const refused = 'status.startTime: Required value: startTime cannot be removed for unsuspended job';
  const said = (before: JsonObject, after: JsonObject): readonly string[] => {
    const job = stored(withStatus({}));
    const { validateUpdate } = allResources().find(({ kind }) => kind === 'Job')?.status ?? assert.fail();
    const of = (status: JsonObject): KubeObject => Object.assign(structuredClone(job), { status });
    return validateUpdate(of(after), of(before), { now: 0 }).map(fieldErrorMessage);
  };
  assert.deepEqual(said({ ...conditions('True'), ...first }, { ...conditions('False'), ...second }), []);
  assert.deepEqual(said({ ...conditions('True'), ...first }, conditions('False')), [refused]);
  assert.deepEqual(said({ ...conditions('False'), ...first }, { ...conditions('False'), ...second }), [refused]);
});
