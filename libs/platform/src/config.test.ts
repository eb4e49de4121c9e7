import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeSettings, readSettings, requireSettings, type SettingSpecs } from './config.ts';
import { OperatorError } from './errors.ts';

const SPECS = {
  port: { kind: 'integer', help: 'Port to listen on', default: 6443, min: 0, max: 65_535 },
  'data-dir': { kind: 'string', help: 'Where everything is kept', default: '.holdfast' },
  store: { kind: 'string', help: 'Redis to use' },
  memory: { kind: 'boolean', help: 'Keep nothing' },
} as const satisfies SettingSpecs;

test('a flag overrides its environment variable, which overrides the default', () => {
  const env = { HOLDFAST_PORT: '7000', HOLDFAST_DATA_DIR: '/d', HOLDFAST_MEMORY: '1' };
  assert.deepEqual(readSettings(SPECS, { argv: ['--port', '8000'], env }), {
    port: 8000,
    'data-dir': '/d',
    store: undefined,
    memory: true,
  });
  assert.deepEqual(readSettings(SPECS, { argv: [], env: { HOLDFAST_PORT: '' } }).port, 6443);
});

const MISTAKES: readonly {
  argv: readonly string[];
  env?: Readonly<Record<string, string>>;
  says: RegExp;
  next?: RegExp;
}[] = [
  { argv: ['--prot', '1'], says: /unknown option '--prot'/, next: /^Do you mean --port\? Run with --help/ },
  { argv: ['--port', 'high'], says: /--port takes a whole number of at least 0 and at most 65535, not "high"/ },
  { argv: ['--port', '70000'], says: /at most 65535, not "70000"/ },
  { argv: ['--port'], says: /--port/ },
  { argv: ['stray'], says: /stray/ },
  { argv: ['--memory=perhaps'], says: /^--memory takes true or false, not "perhaps"$/ },
  { argv: ['--memory', '--memory=true'], says: /--memory/ },
  { argv: [], env: { HOLDFAST_PORT: 'high' }, says: /^HOLDFAST_PORT takes a whole number of .+, not "high"$/ },
  { argv: [], env: { HOLDFAST_MEMORY: 'yes' }, says: /^HOLDFAST_MEMORY takes true or false, not "yes"$/ },
];

for (const { argv, env = {}, says, next = /--help/ } of MISTAKES) {
  test(`the error in ${JSON.stringify([...argv, env])} is reported with the next step`, () => {
    assert.throws(
      () => readSettings(SPECS, { argv, env }),
      (error: unknown) => {
        assert.ok(error instanceof OperatorError);
        assert.match(error.message, says);
        assert.match(error.nextStep, next);
        assert.equal(error.exitCode, 2);
        return true;
      },
    );
  });
}

test('a boolean flag may have a value, and may be true by default', () => {
  const specs = { memory: SPECS.memory, checks: { kind: 'boolean', help: 'Check all', default: true } } as const;
  const read = (...argv: string[]) => readSettings(specs, { argv, env: {} });
  assert.deepEqual(read(), { memory: false, checks: true });
  assert.deepEqual(read('--memory', '--checks=false'), { memory: true, checks: false });
  assert.deepEqual(read('--memory=true', '--checks'), { memory: true, checks: true });
  assert.deepEqual(readSettings(specs, { argv: [], env: { HOLDFAST_CHECKS: 'false' } }).checks, false);
  assert.match(describeSettings(specs), /--checks=false +HOLDFAST_CHECKS +Check all \(default true\)/);
});

test('all missing settings are reported together', () => {
  const specs = { a: { kind: 'string', help: '' }, b: { kind: 'string', help: '' } } as const satisfies SettingSpecs;
  assert.throws(
    () => requireSettings(readSettings(specs, { argv: [], env: {} }), ['a', 'b']),
    /missing --a \(HOLDFAST_A\), --b \(HOLDFAST_B\)/,
  );
});

test('help lists every flag with its variable and default', () => {
  assert.equal(
    describeSettings(SPECS),
    [
      '  --port <n>          HOLDFAST_PORT      Port to listen on (default 6443)',
      '  --data-dir <value>  HOLDFAST_DATA_DIR  Where everything is kept (default .holdfast)',
      '  --store <value>     HOLDFAST_STORE     Redis to use',
      '  --memory            HOLDFAST_MEMORY    Keep nothing',
      '',
    ].join('\n'),
  );
});

const KINDS = {
  period: { kind: 'duration', help: 'Time between two looks', default: '1m30s', min: '1s' },
  mode: { kind: 'enum', values: ['fast', 'safe'], help: 'How it is written', default: 'safe' },
  parts: { kind: 'list', values: ['a', 'b'], help: 'Parts', default: [] },
  names: { kind: 'list', help: 'Names', default: ['x', 'y'] },
  'ca-file': { kind: 'file', help: 'Authority' },
} as const satisfies SettingSpecs;

test('durations are in milliseconds, lists are split at commas, and enum values are checked', () => {
  assert.deepEqual(readSettings(KINDS, { argv: [], env: {} }), {
    period: 90_000,
    mode: 'safe',
    parts: [],
    names: ['x', 'y'],
    'ca-file': undefined,
  });
  const argv = ['--period=2s', '--mode=fast', '--parts=b, a,', '--names=z', '--ca-file=/ca.crt'];
  assert.deepEqual(readSettings(KINDS, { argv, env: {} }), {
    period: 2_000,
    mode: 'fast',
    parts: ['b', 'a'],
    names: ['z'],
    'ca-file': '/ca.crt',
  });
});

test('a value that does not match its kind is refused with the name of its flag or variable', () => {
  for (const [flag, says] of [
    ['--period=5', '--period takes a duration such as 1m30s of at least 1s, not "5"'],
    ['--period=10ms', '--period takes a duration such as 1m30s of at least 1s, not "10ms"'],
    ['--mode=slow', '--mode takes one of fast, safe, not "slow"'],
    ['--parts=a,c', '--parts takes one of a, b, not "c"'],
  ] as const) {
    assert.throws(() => readSettings(KINDS, { argv: [flag], env: {} }), { message: says });
  }
  assert.throws(
    () => readSettings(KINDS, { argv: [], env: { HOLDFAST_MODE: 'slow' } }),
    /^OperatorError: HOLDFAST_MODE/,
  );
});

test('help shows the kind of each setting, its values and its default', () => {
  assert.deepEqual(
    describeSettings(KINDS)
      .split('\n')
      .map((line) => line.replace(/\s+/g, ' ').trim()),
    [
      '--period <duration> HOLDFAST_PERIOD Time between two looks (default 1m30s)',
      '--mode <word> HOLDFAST_MODE How it is written (one of fast, safe) (default safe)',
      '--parts <list> HOLDFAST_PARTS Parts (any of a, b)',
      '--names <list> HOLDFAST_NAMES Names (default x,y)',
      '--ca-file <file> HOLDFAST_CA_FILE Authority',
      '',
    ],
  );
});
