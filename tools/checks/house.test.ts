import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { SUITES } from '../test/suites.ts';

const root = path.resolve(import.meta.dirname, '../..');

function tool(name: string, args: readonly string[], cwd = root): { status: number | null; output: string } {
  const result = spawnSync(path.join(root, 'node_modules', '.bin', name), args, { cwd, encoding: 'utf8' });
  return { status: result.status, output: `${result.stdout}${result.stderr}` };
}

test('types: the whole tree compiles under the strict settings', () => {
  const result = tool('tsc', ['-p', 'tsconfig.json']);
  assert.equal(result.status, 0, result.output);
});

test('types: the console compiles for browsers, and its state without them', () => {
  const result = tool('tsc', ['-p', 'services/console/tsconfig.json']);
  assert.equal(result.status, 0, result.output);
});

test('lint: no rule is broken, warnings included', () => {
  const result = tool('oxlint', ['--type-aware', '--deny-warnings']);
  assert.equal(result.status, 0, result.output);
});

test('format: every file is formatted and its imports are in order', () => {
  const result = tool('biome', ['check', '--error-on-warnings', '.']);
  assert.equal(result.status, 0, result.output);
});

const RULES: readonly { rule: string; file: string; code: string }[] = [
  { rule: 'holdfast(import-direction)', file: 'libs/store/src/a.ts', code: "export { PODS } from '@holdfast/api';" },
  {
    rule: 'holdfast(import-direction)',
    file: 'services/kubelet/src/a.ts',
    code: "export { x } from '@holdfast/apiserver';",
  },
  {
    rule: 'holdfast(import-direction)',
    file: 'services/kubelet/src/a.ts',
    code: "export { x } from '@holdfast/testing';",
  },
  {
    rule: 'holdfast(import-direction)',
    file: 'libs/bus/src/a.ts',
    code: "export { x } from '../../store/src/port.ts';",
  },
  ...["once('error', reject)", "off('error', reject)", "removeListener('error', reject)", 'removeAllListeners()'].map(
    (call) => ({
      rule: 'holdfast(keep-error-listener)',
      file: 'libs/bus/src/a.ts',
      code: `import { Socket } from 'node:net';\nexport const a = (socket: Socket, reject: () => void) => socket.${call};`,
    }),
  ),
  {
    rule: 'holdfast(end-rejections-in-background)',
    file: 'libs/bus/src/a.ts',
    code: 'export const a = (b: Promise<void>, c: { done: Promise<void> }) => {\n  void b.catch(() => c.done);\n};',
  },
  { rule: 'holdfast(machine-only-in-platform)', file: 'libs/bus/src/a.ts', code: 'export const x = Math.random();' },
  { rule: 'holdfast(machine-only-in-platform)', file: 'libs/bus/src/a.ts', code: "export const x = process.env['A'];" },
  {
    rule: 'holdfast(machine-only-in-platform)',
    file: 'services/kubelet/src/a.ts',
    code: "import { randomUUID } from 'node:crypto';\nexport const x = randomUUID();",
  },
  {
    rule: 'holdfast(machine-only-in-platform)',
    file: 'libs/bus/src/a.ts',
    code: 'export const x = globalThis.Date.now();',
  },
  {
    rule: 'holdfast(machine-only-in-platform)',
    file: 'libs/bus/src/a.ts',
    code: 'globalThis.setTimeout(() => {}, 1);',
  },
  {
    rule: 'holdfast(machine-only-in-platform)',
    file: 'libs/bus/src/a.ts',
    code: "import { env } from 'node:process';\nexport const x = env;",
  },
  { rule: 'holdfast(machine-only-in-platform)', file: 'libs/bus/src/a.ts', code: "export const x = process['env'];" },
  { rule: 'holdfast(machine-only-in-platform)', file: 'libs/bus/src/a.ts', code: "export const x = Math['random']();" },
  {
    rule: 'holdfast(machine-only-in-platform)',
    file: 'libs/bus/src/a.ts',
    code: 'const { random } = Math;\nexport const x = random();',
  },
  {
    rule: 'holdfast(machine-only-in-platform)',
    file: 'libs/bus/src/a.ts',
    code: "import c from 'node:crypto';\nexport const x = c.randomUUID();",
  },
  {
    rule: 'holdfast(machine-only-in-platform)',
    file: 'libs/bus/src/a.ts',
    code: "import * as t from 'node:timers/promises';\nexport const x = t;",
  },
  {
    rule: 'holdfast(machine-only-in-platform)',
    file: 'libs/bus/src/a.ts',
    code: "import t from 'node:timers';\nexport const x = t;",
  },
  {
    rule: 'holdfast(machine-only-in-platform)',
    file: 'libs/bus/src/a.ts',
    code: "import { randomBytes } from 'node:crypto';\nexport const x = randomBytes(1);",
  },
  { rule: 'holdfast(machine-only-in-platform)', file: 'libs/bus/src/a.ts', code: 'export const x = process.hrtime();' },
  {
    rule: 'holdfast(machine-only-in-platform)',
    file: 'libs/bus/src/a.ts',
    code: 'export const x = AbortSignal.timeout(1);',
  },
  { rule: 'eslint(no-restricted-globals)', file: 'libs/client/src/a.ts', code: 'export const x = Date.now();' },
  {
    rule: 'eslint(no-restricted-globals)',
    file: 'libs/client/src/a.ts',
    code: 'export const x = setTimeout(() => {}, 1);',
  },
  {
    rule: 'holdfast(no-open-table)',
    file: 'services/kubelet/src/a.ts',
    code: 'const TABLE: Readonly<Record<string, number>> = { a: 1 };\nexport const x = (route: string) => TABLE[route];',
  },
  {
    rule: 'holdfast(no-open-table)',
    file: 'libs/api/src/a.ts',
    code: 'export const x = (table: Record<string, number>, key: string) => (table[key] = 1);',
  },
  {
    rule: 'holdfast(no-open-table)',
    file: 'services/scheduler/src/a.ts',
    code: "import type { Pod } from '@holdfast/api';\nexport const x = (pod: Pod, key: string) => pod.metadata.labels?.[key];",
  },
  {
    rule: 'holdfast(no-open-table)',
    file: 'services/kubelet/src/a.ts',
    code: 'export const x = <T>(memory: { failures: T }, container: { name: keyof T }) => memory.failures[container.name];',
  },
  ...[
    "test('a', () => {\n  if (globalThis.x) return;\n  assert.ok(1);\n});",
    "test('a', async () => {\n  const x = await f().catch(() => undefined);\n  if (!x) return undefined;\n});",
    "test('a', () => {\n  try { f(); } catch { return; }\n});",
    "testUsers('a', () => {\n  if (globalThis.x) {\n    return;\n  }\n});",
    "if (globalThis.x) test('a', () => {});",
    'const testAsRoot = (title, run) => {\n  if (process.getuid() === 0) test(title, run);\n};',
    "for (const x of [1]) {\n  if (x > 1) continue;\n  test('a', () => {});\n}",
    "test('a', { skip: true }, () => {});",
    "test('a', (t) => t.skip());",
  ].map((code) => ({ rule: 'holdfast(no-silent-skip)', file: 'libs/client/src/a.test.ts', code })),
  ...[
    "const clock = createSystemClock();\ntest('a', () => clock.sleep(50));",
    "test('a', async () => {\n  await createSystemClock().sleep(1);\n});",
  ].map((code) => ({
    rule: 'holdfast(no-real-sleep)',
    file: 'libs/client/src/a.test.ts',
    code: `import { createSystemClock } from '@holdfast/platform';\n${code}`,
  })),
  ...[
    '/** Who asks again waits. */',
    '/** Done. Whoever asks again waits. */',
    '/**\n * Done.\n * Whose it is shows later.\n */',
    '// Of a node that is gone nothing is known.',
    '// Of the others nothing is known.',
  ].map((comment) => ({
    rule: 'holdfast(plain-comments)',
    file: 'libs/client/src/a.ts',
    code: `${comment}\nexport const x = 1;`,
  })),
  { rule: 'import(no-default-export)', file: 'libs/client/src/a.ts', code: 'export default 1;' },
  {
    rule: 'eslint(max-lines-per-function)',
    file: 'libs/client/src/a.ts',
    code: `export function long(): void {\n${'  void 0;\n'.repeat(70)}}`,
  },
  { rule: 'eslint(max-lines)', file: 'libs/client/src/a.ts', code: `export const x = 1;\n${'// line\n'.repeat(601)}` },
];

for (const { rule, file, code } of RULES) {
  test(`lint rule ${rule} fires on ${JSON.stringify(code.slice(0, 50))}`, () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-lint-'));
    try {
      mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
      writeFileSync(path.join(folder, file), code);
      const result = tool('oxlint', ['-c', path.join(root, '.oxlintrc.json'), file], folder);
      assert.ok(result.output.includes(rule), `${rule} did not fire:\n${result.output}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

test('lint rule holdfast(no-open-table) spares fixed keys, unions of names, lists and guarded lookups', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-lint-'));
  try {
    mkdirSync(path.join(folder, 'services/kubelet/src'), { recursive: true });
    const lines = [
      "const RANKS: Readonly<Record<'a' | 'b', number>> = { a: 1, b: 2 };",
      "export const fixed = (labels: Record<string, string>) => labels['app'];",
      "export const named = (key: 'a' | 'b') => RANKS[key];",
      'export const place = (list: readonly string[], i: number) => list[i];',
      'export const guarded = (labels: Record<string, string>, key: string) =>',
      '  Object.hasOwn(labels, key) ? labels[key] : undefined;',
      `export const joined = (labels: Record<string, string>, name: string) => labels[\`app/\${name}\`];`,
    ];
    writeFileSync(path.join(folder, 'services/kubelet/src/a.ts'), `${lines.join('\n')}\n`);
    const result = tool('oxlint', ['-c', path.join(root, '.oxlintrc.json'), 'services'], folder);
    assert.equal(result.status, 0, result.output);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('lint rule holdfast(no-silent-skip) spares skips with a reason, helpers and properties', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-lint-'));
  try {
    mkdirSync(path.join(folder, 'libs/client/src'), { recursive: true });
    const lines = [
      "test('a', { skip: globalThis.x ? 'needs root' : false }, () => {});",
      "test('b', (t) => {\n  if (globalThis.x) return t.skip('needs root');\n});",
      "test('c', () => {\n  const add = (x: number): void => {\n    if (x > 1) return;\n  };\n  add(1);\n});",
      "test('d', () => {\n  for (const x of [1, 2]) {\n    if (x > 1) continue;\n    /a/.test('a');\n  }\n});",
    ];
    writeFileSync(path.join(folder, 'libs/client/src/a.test.ts'), `${lines.join('\n')}\n`);
    const result = tool('oxlint', ['-c', path.join(root, '.oxlintrc.json'), 'libs'], folder);
    assert.equal(result.status, 0, result.output);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('lint rule holdfast(plain-comments) spares questions, and these words inside a sentence', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-lint-'));
  try {
    mkdirSync(path.join(folder, 'libs/client/src'), { recursive: true });
    const comments = [
      '/** Who asks? */',
      '/** The client who asks again. Off by default. */',
      '// Whole numbers, of a node.',
    ];
    writeFileSync(path.join(folder, 'libs/client/src/a.ts'), `${comments.join('\n')}\nexport const x = 1;\n`);
    const result = tool('oxlint', ['-c', path.join(root, '.oxlintrc.json'), 'libs'], folder);
    assert.equal(result.status, 0, result.output);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('lint rule globs spare main.ts: it may read the environment', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-lint-'));
  try {
    mkdirSync(path.join(folder, 'services/kubelet/src'), { recursive: true });
    writeFileSync(
      path.join(folder, 'services/kubelet/src/main.ts'),
      "export const x = process.env['A'] ?? Date.now();",
    );
    const result = tool('oxlint', ['-c', path.join(root, '.oxlintrc.json'), 'services'], folder);
    assert.equal(result.status, 0, result.output);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('tree: no leftover markers, no skipped or focused tests', () => {
  const problems: string[] = [];
  for (const file of sources().filter((name) => !name.endsWith('house.test.ts'))) {
    const text = readFileSync(path.join(root, file), 'utf8');
    if (/\b(TODO|FIXME|XXX)\b/.test(text)) problems.push(`${file}: leftover marker`);
    if (/\b(test|it|describe)\.(skip|only|todo)\(/.test(text) || /\b(skip|only|todo): true\b/.test(text)) {
      problems.push(`${file}: skipped or focused test`);
    }
  }
  assert.deepEqual(problems, []);
});

test('tree: every test file belongs to a suite', () => {
  const run = new Set(SUITES.flatMap((suite) => globSync([...suite.files], { cwd: root })));
  assert.deepEqual(
    sources().filter((file) => file.endsWith('.test.ts') && !run.has(file)),
    [],
  );
});

function sources(): readonly string[] {
  return globSync(['{libs,services,test,tools,bench,scripts}/**/*.ts'], { cwd: root, exclude: ['**/node_modules/**'] });
}

test('main.ts files stay under 60 lines: wiring belongs in app.ts', () => {
  const mains = globSync(['services/*/src/main.ts'], { cwd: root });
  const long = mains.filter((file) => readFileSync(path.join(root, file), 'utf8').split('\n').length > 60);
  assert.deepEqual(long, []);
});
