import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');

/** What objects mean is said in `libs/api/src/semantics`. Each entry finds a second place that says it. */
const MEANINGS: readonly { readonly what: string; readonly instead: string; readonly pattern: RegExp }[] = [
  {
    what: 'that a pod is finished',
    instead: 'isPodFinished',
    pattern:
      /'Succeeded'\s*(\|\||&&)[^;\n]*phase\s*(===|!==)\s*'Failed'|'Failed'\s*(\|\||&&)[^;\n]*phase\s*(===|!==)\s*'Succeeded'/,
  },
  { what: 'what a toleration covers', instead: 'tolerates', pattern: /(function|const) tolerates\b/ },
  { what: 'that a node is ready', instead: 'isNodeReady', pattern: /(function|const) (isReadyNode|isNodeReady)\b/ },
  {
    what: 'that a pod is ready',
    instead: 'isPodReady',
    pattern: /type === 'Ready' && \w*(\.?status|is|value) === 'True'/,
  },
  { what: 'what a duration text says', instead: 'parseDuration', pattern: /(function|const) parseDuration\b/ },
  { what: 'which nodes a pod asks for', instead: 'compileRequiredNodes', pattern: /function compileRequiredNodes\b/ },
  {
    what: 'which init containers are sidecars',
    instead: 'sidecarsOf',
    pattern: /initContainers \?\? \[\]\)\s*\.filter\([^)]*restartPolicy/,
  },
];

/** Says it in other words for a reason. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ['services/holdfast/src/health/judge.ts', 'reads JSON that nobody has decoded'],
  ['services/kubelet/src/domain/pod-status.ts', 'computes the phase that the others read'],
  ['libs/machinery/src/durations.ts', 'is the one that all use'],
  ['libs/cel/src/library/time-text.ts', 'reads durations of CEL, with a sign and in nanoseconds'],
  ['services/kubelet/src/domain/decide-kill.ts', 'to follow: this room is being rebuilt'],
]);

function copies(file: string, text: string): readonly string[] {
  if (file.startsWith('libs/api/src/semantics/') || EXCEPTIONS.has(file)) return [];
  return MEANINGS.filter(({ pattern }) => pattern.test(text)).map(
    ({ what, instead }) => `${file} says ${what}: use ${instead} of libs/api or libs/machinery`,
  );
}

test('semantics: no service has a copy of what libs/api/src/semantics says', () => {
  const files = globSync(['services/*/src/**/*.ts', 'libs/*/src/**/*.ts'], { cwd: root }).filter(
    (file) => !file.endsWith('.test.ts') && !/(testing|test-support|generated)\//.test(file),
  );
  const found = files.flatMap((file) => copies(file, readFileSync(path.join(root, file), 'utf8')));
  assert.deepEqual(found, []);
});

test('semantics: the check finds a copy of each meaning', () => {
  const planted = [
    "const isOver = ({ status }: Pod) => status.phase === 'Succeeded' || status.phase === 'Failed';",
    'function tolerates(toleration: Toleration, taint: Taint): boolean {',
    'const isReadyNode = (node: Node): boolean => false;',
    "conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True')",
    'export function parseDuration(text: string) {',
    'export function compileRequiredNodes(pod: Pod) {',
    "(spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')",
  ];
  for (const text of planted) assert.equal(copies('services/x/src/a.ts', text).length, 1, text);
});
