import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');

/** The meaning of objects is defined in `libs/api/src/semantics`. Each entry finds a second definition. */
const MEANINGS: readonly { readonly what: string; readonly instead: string; readonly pattern: RegExp }[] = [
  {
    what: 'that a pod is finished',
    instead: 'isPodFinished',
    pattern:
      /'Succeeded'\s*(\|\||&&)[^;\n]*phase\s*(===|!==)\s*'Failed'|'Failed'\s*(\|\||&&)[^;\n]*phase\s*(===|!==)\s*'Succeeded'/,
  },
  {
    what: 'what a toleration covers',
    instead: 'tolerates or isTolerated',
    pattern: /(function|const) tolerates\b|tolerations \?\? \[\]\)\s*\.some\(\(\{ key = /,
  },
  { what: 'that a node is ready', instead: 'isNodeReady', pattern: /(function|const) (isReadyNode|isNodeReady)\b/ },
  {
    what: 'that a pod is ready',
    instead: 'isPodReady',
    pattern: /type === 'Ready' && \w*(\.?status|is|value) === 'True'/,
  },
  {
    what: 'how a pod has ended',
    instead: 'hasPodSucceeded, hasPodFailed or isFinishedPhase',
    pattern: /\bphase\s*(===|!==)\s*'(Succeeded|Failed)'|'Succeeded', 'Failed'|'Failed', 'Succeeded'/,
  },
  {
    what: 'what a duration text says',
    instead: 'parseDuration',
    pattern: /(function|const) (parse|read)Duration\b|3_?600_?000\b.*\bm\b.*60_?000/,
  },
  { what: 'which nodes a pod asks for', instead: 'compileRequiredNodes', pattern: /function compileRequiredNodes\b/ },
  {
    what: 'which init containers are sidecars',
    instead: 'isSidecar or sidecarsOf',
    pattern: /initContainers[^;]{0,80}restartPolicy === 'Always'/,
  },
  {
    what: 'that an object is terminating',
    instead: 'isTerminating',
    pattern: /metadata\??\.deletionTimestamp\s*(===|!==)\s*undefined/,
  },
  {
    what: 'which condition an object has',
    instead: 'podCondition or nodeCondition',
    pattern: /conditions\b[^;\n]*\btype === '(Ready|PodScheduled|DisruptionTarget)'/,
  },
  { what: 'that a node has a taint', instead: 'hasTaint', pattern: /taints \?\? \[\]\)\s*\.some\(\(\{ key \}\)/ },
  { what: 'the QoS class of a pod', instead: 'qosClassOf', pattern: /(function|const) qosClass\w*/ },
  {
    what: 'that a pod is a mirror pod',
    instead: 'isMirrorPod',
    pattern: /annotations\?\.\[MIRROR_ANNOTATION\] (===|!==) undefined/,
  },
  {
    what: 'the class of a volume or claim',
    instead: 'storageClassOf',
    pattern: /\[STORAGE_CLASS_ANNOTATION\] \?\?/,
  },
  {
    what: 'how a heap is kept',
    instead: 'BinaryHeap or DelayHeap',
    pattern: /(class|function create)\s?\w*Heap\b|>> 1;\n.*(parent|child)/,
  },
  { what: 'how a queue is kept', instead: 'Fifo', pattern: /class \w*(Fifo|FIFO)\b|createFifo\b/ },
  {
    what: 'what leaves a full map',
    instead: 'RecentMap',
    pattern: /class \w*(Lru|LRU)\w*\b|\.keys\(\)\.next\(\)/,
  },
  {
    what: 'how the latest items are kept',
    instead: 'Fifo or RevisionRing',
    pattern: /class \w*(Ring|Deque)\b|create\w*(Ring|Deque)\b/,
  },
];

/** A second place for a reason. Each entry is needed: one that no pattern finds fails the test. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ['services/kubelet/src/domain/pod-conditions.ts', 'computes the conditions for a phase that it has just computed'],
  ['services/controller-manager/src/controllers/volume-binding/decide-volume.ts', 'compares the phase of a volume'],
  ['libs/platform/src/durations.ts', 'is the one that all use'],
  [
    'services/apiserver/src/http/request-timeout.ts',
    'reads durations as Go does, with a sign, and says what is wrong in its words',
  ],
  ['libs/cel/src/library/time-text.ts', 'reads durations of CEL, with a sign and in nanoseconds'],
]);

/** The folders that hold the one definition: of what objects mean, and of small collections. */
const HOMES = ['libs/api/src/semantics/', 'libs/platform/src/collections/'];

function copies(file: string, text: string): readonly string[] {
  if (HOMES.some((folder) => file.startsWith(folder))) return [];
  return MEANINGS.filter(({ pattern }) => pattern.test(text)).map(
    ({ what, instead }) => `${file} says ${what}: use ${instead} of libs/api, libs/machinery or libs/platform`,
  );
}

const production = (): readonly string[] =>
  globSync(['services/*/src/**/*.ts', 'libs/*/src/**/*.ts'], { cwd: root }).filter(
    (file) => !/(\.test|\/testing)\.ts$|(testing|generated)\//.test(file),
  );

const textOf = (file: string): string => readFileSync(path.join(root, file), 'utf8');

test('semantics: no room copies code of libs/api/src/semantics', () => {
  const found = production().map((file) => ({ file, copies: copies(file, textOf(file)) }));
  const unexpected = found.filter(({ file }) => !EXCEPTIONS.has(file)).flatMap((each) => each.copies);
  assert.deepEqual(unexpected, []);
  const needed = new Set(found.filter((each) => each.copies.length > 0).map(({ file }) => file));
  assert.deepEqual(
    [...EXCEPTIONS.keys()].filter((file) => !needed.has(file)),
    [],
    'exceptions that nothing needs',
  );
});

/** A label, an annotation, a taint, a finalizer or a signer; group versions do not count. */
const NAME = /'([a-z0-9.-]*(?:kubernetes\.io|k8s\.io)\/[A-Za-z0-9_.-]+)'/g;
const GROUP_VERSION = /\/v\d+((alpha|beta)\d+)?$/;

function namesInTwoFiles(texts: ReadonlyMap<string, string>): readonly string[] {
  const places = new Map<string, Set<string>>();
  for (const [file, text] of texts) {
    for (const [, name = ''] of text.matchAll(NAME)) {
      if (GROUP_VERSION.test(name)) continue;
      places.set(name, (places.get(name) ?? new Set()).add(file));
    }
  }
  return [...places]
    .filter(([, files]) => files.size > 1)
    .map(
      ([name, files]) => `${name} is written in ${[...files].join(' and ')}: use libs/api/src/semantics/well-known.ts`,
    );
}

test('semantics: a name with a meaning in Kubernetes is written in one file', () => {
  assert.deepEqual(namesInTwoFiles(new Map(production().map((file) => [file, textOf(file)]))), []);
  const twice = namesInTwoFiles(
    new Map([
      ['a.ts', "const A = 'example.kubernetes.io/name';\nconst B = 'apps.k8s.io/v1';"],
      ['b.ts', "const A = 'example.kubernetes.io/name';\nconst B = 'apps.k8s.io/v1';"],
    ]),
  );
  assert.equal(twice.length, 1, twice.join());
});

test('semantics: the check detects a copy of each meaning', () => {
  const planted = [
    "const isOver = ({ status }: Pod) => status.phase === 'Failed';",
    'function tolerates(toleration: Toleration, taint: Taint): boolean {',
    "(spec.tolerations ?? []).some(({ key = '', effect = '' }) => key === '')",
    'const isReadyNode = (node: Node): boolean => false;',
    "conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True')",
    "status.conditions?.find(({ type }) => type === 'PodScheduled')",
    'export function parseDuration(text: string) {',
    'const UNITS = { h: 3_600_000, m: 60_000 };',
    'export function compileRequiredNodes(pod: Pod) {',
    "(spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')",
    'if (pod.metadata.deletionTimestamp !== undefined) return;',
    '(spec.taints ?? []).some(({ key }) => key === UNREACHABLE)',
    "export function qosClass(pod: Pod): 'Guaranteed' | 'Burstable' {",
    'pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined',
    "claim.metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? ''",
    'export class EventHeap {',
    'export function createDelayHeap(): DelayHeap {',
    'export class FrameFifo {',
    'export class NodeLru {',
    'known.delete(known.keys().next().value)',
    'class SampleRing {',
    'export function createMessageRing(limit: number) {',
  ];
  for (const text of planted) assert.ok(copies('services/x/src/a.ts', text).length > 0, text);
});

/** A clock that a test moves: `createVirtualClock` of `@holdfast/platform/testing` is the one for all. */
const TEST_CLOCK = /(function|const|class) \w*(virtual|manual|hand|fake)clock\b|class \w+ implements Clock\b/i;
const THE_TEST_CLOCK = 'libs/platform/src/testing/virtual-clock.ts';

test('semantics: there is one virtual clock', () => {
  const files = globSync(['services/*/src/**/*.ts', 'libs/*/src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'], {
    cwd: root,
  });
  const found = files.filter((file) => !file.includes('node_modules') && TEST_CLOCK.test(textOf(file)));
  assert.deepEqual(found, [THE_TEST_CLOCK]);
  for (const text of ['class ManualClock implements Clock {', 'function handClock()', 'const createFakeClock = ']) {
    assert.ok(TEST_CLOCK.test(text), text);
  }
});
