import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Event } from '@holdfast/api';
import { formatTime, parseTime } from '@holdfast/platform';
import fc from 'fast-check';
import type { HistoryChange } from '../history/documents.ts';
import { filmsOf } from './film.ts';
import { layoutOf } from './layout.ts';
import type { Film, FilmMaterial, Step } from './model.ts';
import { durationText } from './names.ts';
import { applyDifferences } from './replay.ts';
import { afterText, lastedText, stepsInOrder } from './told.ts';

const BEGIN_MS = parseTime('2026-01-01T00:00:00Z') ?? 0;
const NODE = 'node-2';

const LEASE = ['coordination.k8s.io', 'leases', 'kube-node-lease', NODE] as const;
const LOST_NODE = ['', 'nodes', undefined, NODE] as const;
const PET = ['', 'pods', 'default', 'db-1'] as const;
const VOLUME = ['', 'persistentvolumes', undefined, 'disk'] as const;

type Which = readonly [string, string, string | undefined, string];
type Diff = NonNullable<HistoryChange['diff']>;
type Told = readonly [seconds: number, object: Which, what: 'created' | 'deleted' | Diff];

const set = (path: string, value: unknown): Diff[number] => ({ op: 'replace', path, value });
const add = (path: string, value: unknown): Diff[number] => ({ op: 'add', path, value });

const changesOf = (told: readonly Told[]): readonly HistoryChange[] =>
  told.map(([seconds, [group, resource, namespace, name], what], index) => ({
    revision: String(index + 1),
    time: formatTime(BEGIN_MS + seconds * 1000),
    object: { group, resource, name, ...(namespace === undefined ? {} : { namespace }) },
    ...(typeof what === 'string' ? { type: what } : { type: 'updated' as const, diff: what }),
  }));

const PROMISE = { 'holdfast.io/self-fencing': 'exclusive' };
const ready = (status: string) => [{ type: 'Ready', status }];

interface Scene {
  readonly annotations?: object;
  readonly hostname?: string;
  readonly seconds?: number;
  readonly readyAtFirst?: string;
  readonly tail?: readonly Told[];
}

/** One node with one pod and its disk; the node sends its last heartbeat after two seconds. */
function material(
  told: readonly Told[],
  { annotations = PROMISE, hostname = 'db-1', seconds = 47, readyAtFirst = 'True' }: Scene = {},
): FilmMaterial {
  const renewTime = formatTime(BEGIN_MS);
  const pet = {
    metadata: {
      namespace: 'default',
      name: 'db-1',
      uid: 'one',
      ownerReferences: [{ kind: 'StatefulSet', controller: true }],
    },
    spec: { nodeName: NODE, hostname, volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
    status: { phase: 'Running' },
  };
  const disk = {
    metadata: { name: 'disk' },
    spec: { claimRef: { namespace: 'default', name: 'data' } },
    status: { attachment: { nodeName: NODE } },
  };
  const lease = {
    metadata: { namespace: 'kube-node-lease', name: NODE, annotations },
    spec: { leaseDurationSeconds: 8, renewTime },
  };
  return {
    before: {
      nodes: [{ metadata: { name: NODE }, spec: {}, status: { conditions: ready(readyAtFirst) } }],
      leases: [lease],
      pods: [pet],
      persistentvolumes: [disk],
    },
    changes: changesOf([[2, LEASE, [set('/spec/renewTime', 'r1')]], ...told]),
    made: new Map(),
    events: [],
    fromMs: BEGIN_MS,
    toMs: BEGIN_MS + seconds * 1000,
  };
}

const UNKNOWN: Told = [12, LOST_NODE, [set('/status/conditions/0/status', 'Unknown')]];
const BROKEN: Told = [13, LEASE, [add('/metadata/annotations/holdfast.io~1self-fencing-broken', 'x')]];
const DOWN: Told = [14, PET, [add('/status/conditions', [{ type: 'NodeDown', status: 'True' }])]];
const TOLD: Told = [15, PET, [add('/metadata/deletionTimestamp', 'x')]];
const GONE: Told = [16, PET, 'deleted'];
const DETACHED: Told = [17, VOLUME, [{ op: 'remove', path: '/status/attachment' }]];
const MADE: Told = [18, PET, 'created'];
const BOUND: Told = [19, PET, [add('/spec/nodeName', 'node-1')]];
const ATTACHED: Told = [20, VOLUME, [add('/status/attachment', { nodeName: 'node-1' })]];
const RUNS: Told = [21, PET, [set('/status/phase', 'Running')]];
const HEARD: Told = [
  40,
  LEASE,
  [set('/spec/renewTime', 'r2'), { op: 'remove', path: '/metadata/annotations/holdfast.io~1self-fencing-broken' }],
];
const BACK: Told = [41, LOST_NODE, [set('/status/conditions/0/status', 'True')]];
const WHOLE = [UNKNOWN, BROKEN, DOWN, TOLD, GONE, DETACHED, MADE, BOUND, ATTACHED, RUNS, HEARD, BACK] as const;

function theFilm(found: readonly Film[]): Film {
  assert.equal(found.length, 1);
  return found[0] ?? assert.fail();
}

const stepsOf = (film: Film, kind: string): readonly Step[] =>
  film.lanes.find((lane) => lane.kind === kind)?.steps ?? [];
const shape = (film: Film, kind: string): string =>
  stepsOf(film, kind)
    .map((step) => `${(step.fromMs - BEGIN_MS) / 1000} ${step.kind}`)
    .join(', ');

test('a loss from the last heartbeat to the return: what each lane shows, and from when on', () => {
  const film = theFilm(filmsOf(material(WHOLE)));
  assert.equal(shape(film, 'node'), '0 heard, 2 silent, 12 lost, 13 fenced, 40 returned, 41 heard');
  assert.equal(
    shape(film, 'pod'),
    '0 runs, 2 unknown, 13 ended, 14 ended, 15 ended, 16 absent, 18 waiting, 19 starts, 21 runs',
  );
  assert.equal(shape(film, 'volume'), '0 attached, 17 free, 20 moved');
  assert.deepEqual(film.waits, []);
  assert.equal(film.toMs - BEGIN_MS, 46_000, 'it ends soon after the last step');
  const all = new Map(film.lanes.flatMap(({ steps }) => steps.map((step) => [step.id, step])));
  const causeOf = (kind: string, at: number): string => all.get(stepsOf(film, kind)[at]?.cause ?? -1)?.kind ?? 'none';
  assert.deepEqual(
    [
      causeOf('node', 0),
      causeOf('pod', 1),
      causeOf('pod', 2),
      causeOf('volume', 1),
      causeOf('volume', 2),
      causeOf('pod', 8),
    ],
    ['none', 'silent', 'fenced', 'absent', 'starts', 'moved'],
  );
});

test('the sentence why a pod is not back names what is not done yet', () => {
  const pet = (...told: readonly Told[]): readonly [readonly Told[], Scene] => [told, {}];
  const plain = (...told: readonly Told[]): readonly [readonly Told[], Scene] => [told, { annotations: {} }];
  const cases: readonly (readonly [readonly [readonly Told[], Scene], string])[] = [
    [pet(), 'db-1 waits: the promise of node-2 to end it is being waited out; it may be running until then'],
    [plain(), 'db-1 waits: node-2 is silent, but not declared lost yet; it may be running'],
    [
      plain(UNKNOWN),
      'db-1 waits: node-2 sends no heartbeats, and the pod tolerates that for a time; it may be running',
    ],
    [plain(UNKNOWN, DOWN, TOLD), 'db-1 waits: node-2 has not confirmed that its processes ended; it may be running'],
    [pet(BROKEN), 'db-1 waits: it is confirmed dead on node-2, and has to be told to go'],
    [pet(BROKEN, TOLD), 'db-1 waits: it is confirmed dead on node-2, and the pod garbage collector has to remove it'],
    [pet(BROKEN, TOLD, GONE), 'db-1 waits: its StatefulSet has not made it again'],
    [pet(BROKEN, TOLD, GONE, MADE), 'db-1 waits: the scheduler has not found a node for it'],
    [pet(BROKEN, TOLD, GONE, DETACHED, MADE, BOUND), 'db-1 waits: it starts on node-1'],
    [plain(UNKNOWN, TOLD, HEARD), 'db-1 waits: node-2 has to confirm that its processes ended'],
  ];
  for (const [[told, scene], sentence] of cases)
    assert.deepEqual(theFilm(filmsOf(material(told, scene))).waits, [sentence]);
});

test('a volume that another node still has is named, and so is what the scheduler said', () => {
  const made = { ...material([BROKEN, TOLD, GONE, MADE, BOUND]) };
  const again = made.before.pods[0] as { readonly metadata: object; readonly spec: object };
  const content = {
    metadata: { ...again.metadata, uid: 'two' },
    spec: { ...again.spec, nodeName: undefined },
    status: { phase: 'Pending' },
  };
  const known = { ...made, made: new Map([['5', content]]) };
  assert.deepEqual(theFilm(filmsOf(known)).waits, ['db-1 waits: its volume disk is still attached to node-2']);
  const said: Event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {},
    type: 'Warning',
    reason: 'FailedScheduling',
    message: '0/2 nodes are available.',
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'db-1', uid: 'two' },
    lastTimestamp: '2026-01-01T00:00:20Z',
    firstTimestamp: '2026-01-01T00:00:20Z',
    eventTime: null,
    reportingComponent: '',
    reportingInstance: '',
    source: {},
  };
  const unbound = { ...known, changes: known.changes.slice(0, -1), events: [said] };
  const film = theFilm(filmsOf(unbound));
  assert.deepEqual(film.waits, [
    'db-1 waits: the scheduler has not found a node for it (FailedScheduling: 0/2 nodes are available)',
  ]);
  assert.deepEqual(film.remarks, [
    { atMs: BEGIN_MS + 20_000, about: 'default/db-1', reason: 'FailedScheduling', message: '0/2 nodes are available.' },
  ]);
});

test('the promise covers only exclusive pods; the fencer and a person cover all', () => {
  const kinds = (told: readonly Told[], scene: Scene = {}): readonly string[] =>
    stepsOf(theFilm(filmsOf(material(told, scene))), 'pod').map(({ kind }) => kind);
  const fence = (status: string): Told => [13, LOST_NODE, [add('/status/conditions/1', { type: 'Fenced', status })]];
  const away: Told = [
    14,
    LOST_NODE,
    [add('/spec/taints', [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }])],
  ];
  assert.deepEqual(kinds([UNKNOWN, fence('Unknown')], { annotations: {} }), ['runs', 'unknown']);
  assert.deepEqual(kinds([UNKNOWN, fence('True')], { annotations: {} }), ['runs', 'unknown', 'ended']);
  assert.deepEqual(kinds([UNKNOWN, away], { annotations: {} }), ['runs', 'unknown', 'ended']);
  const web = material([UNKNOWN, BROKEN], { hostname: 'other' });
  const pod = web.before.pods[0] as { readonly metadata: object; readonly spec: object; readonly status: object };
  const shared = { ...pod, spec: { nodeName: NODE } };
  const film = theFilm(filmsOf({ ...web, before: { ...web.before, pods: [shared] } }));
  assert.deepEqual(
    stepsOf(film, 'pod').map(({ kind }) => kind),
    ['runs', 'unknown'],
  );
});

test('without a promise a pod that was told to go waits for its node, which confirms its end on its return', () => {
  const own = material([UNKNOWN, DOWN, TOLD, HEARD, BACK, [42, PET, 'deleted'], [43, PET, 'created']], {
    annotations: {},
  });
  const by = (user: string): FilmMaterial => ({
    ...own,
    changes: own.changes.map((change) => (change.type === 'deleted' ? { ...change, by: { user } } : change)),
  });
  const film = theFilm(filmsOf(by('system:node:node-2')));
  assert.equal(shape(film, 'pod'), '0 runs, 2 unknown, 14 unknown, 15 leaving, 40 leaving, 42 absent, 43 waiting');
  const names = (shown: Film): readonly string[] => stepsOf(shown, 'pod').map(({ name }) => name);
  assert.deepEqual(names(film).slice(2, 6), [
    'NodeDown: may be running on node-2',
    'told to go; node-2 has not confirmed its end',
    'told to go; node-2 ends it',
    'gone: node-2 confirmed its end',
  ]);
  assert.equal(names(theFilm(filmsOf(by('alice')))).at(5), 'gone: removed by alice');
});

test('a node that renews, one that ends in order, and a question for another node give no film', () => {
  const heard: Told = [8, LEASE, [set('/spec/renewTime', 'r2')]];
  assert.deepEqual(filmsOf(material([heard], { seconds: 12 })), []);
  assert.deepEqual(
    filmsOf(
      material([
        [5, LOST_NODE, 'deleted'],
        [5, LEASE, 'deleted'],
      ]),
    ),
    [],
  );
  assert.deepEqual(filmsOf(material(WHOLE), 'node-1'), []);
  assert.equal(filmsOf(material(WHOLE), NODE).length, 1);
});

test('a node that was lost before the beginning was heard when its lease says so', () => {
  const whole = material([], { readyAtFirst: 'Unknown' });
  const later = { ...whole, changes: [], fromMs: BEGIN_MS + 20_000 };
  const film = theFilm(filmsOf(later));
  assert.deepEqual([film.lostMs, film.fromMs, shape(film, 'node')], [BEGIN_MS, BEGIN_MS + 20_000, '20 lost']);
  const first = stepsInOrder(film)[0]?.step ?? assert.fail();
  assert.deepEqual([afterText(film, first.fromMs), lastedText(first)], ['20.0s', 'lasts']);
  assert.ok(layoutOf(film).ticks.some(({ text }) => text === '30s'));
});

test('changes are applied where they fit; lists lose their end', () => {
  const object = { list: [1, 2, 3, 4], 'a/b': { '~': 1 } };
  applyDifferences(object, [
    { op: 'remove', path: '/list/2' },
    { op: 'remove', path: '/list/3' },
    set('/a~1b/~0', 2),
    add('/new/deep', true),
    set('/list/0/x', 1),
    add('/__proto__/polluted', true),
  ]);
  assert.deepEqual(object, { list: [1, 2], 'a/b': { '~': 2 }, new: { deep: true } });
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

test('durations are short', () => {
  assert.deepEqual([0, 10_640, 119_900, 185_000, 7_800_000].map(durationText), [
    '0.0s',
    '10.6s',
    '119.9s',
    '3m 05s',
    '2h 10m',
  ]);
});

/** The same changes in any order, at any time, any number of times: nonsense that a film has to survive. */
const anyChanges = fc.array(fc.tuple(fc.nat(WHOLE.length - 1), fc.integer({ min: -5, max: 70 })), { maxLength: 30 });

test('whatever happened: no step ends before it begins, lanes have no gaps, and each cause began earlier', () => {
  fc.assert(
    fc.property(anyChanges, fc.boolean(), (picked, promises) => {
      const told = picked.map(
        ([which, seconds]): Told => [seconds, (WHOLE[which] ?? BACK)[1], (WHOLE[which] ?? BACK)[2]],
      );
      for (const film of filmsOf(material(told, promises ? {} : { annotations: {} }))) {
        const all = new Map(film.lanes.flatMap(({ steps }) => steps.map((step) => [step.id, step])));
        for (const { steps } of film.lanes)
          for (const [index, step] of steps.entries()) {
            assert.ok(film.fromMs <= step.fromMs && step.fromMs <= step.toMs && step.toMs <= film.toMs);
            assert.equal(step.toMs, steps[index + 1]?.fromMs ?? film.toMs);
            const cause = step.cause === undefined ? undefined : (all.get(step.cause) ?? assert.fail());
            assert.ok(cause === undefined || (cause.id < step.id && cause.fromMs <= step.fromMs));
          }
        const { lanes, width: whole } = layoutOf(film);
        assert.ok(lanes.every(({ bars }) => bars.every(({ x, width }) => x >= 0 && x + width <= whole + 2)));
      }
    }),
  );
});
