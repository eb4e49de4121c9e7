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

test('a flag wins over its environment variable, that over the default', () => {
  const env = { HOLDFAST_PORT: '7000', HOLDFAST_DATA_DIR: '/d', HOLDFAST_MEMORY: '1' };
  assert.deepEqual(readSettings(SPECS, { argv: ['--port', '8000'], env }), {
    port: 8000,
    'data-dir': '/d',
    store: undefined,
    memory: true,
  });
  assert.deepEqual(readSettings(SPECS, { argv: [], env: { HOLDFAST_PORT: '' } }).port, 6443);
});

const MISTAKES: readonly { argv: readonly string[]; env?: Readonly<Record<string, string>>; says: RegExp }[] = [
  { argv: ['--prot', '1'], says: /unknown option '--prot'/ },
  { argv: ['--port', 'high'], says: /--port takes a whole number of at least 0 and at most 65535, not "high"/ },
  { argv: ['--port', '70000'], says: /at most 65535, not "70000"/ },
  { argv: ['--port'], says: /--port/ },
  { argv: ['stray'], says: /stray/ },
  { argv: [], env: { HOLDFAST_PORT: 'high' }, says: /^HOLDFAST_PORT takes a whole number of .+, not "high"$/ },
  { argv: [], env: { HOLDFAST_MEMORY: 'yes' }, says: /^HOLDFAST_MEMORY takes true or false, not "yes"$/ },
];

for (const { argv, env = {}, says } of MISTAKES) {
  test(`the mistake ${JSON.stringify([...argv, env])} is named, with the next step`, () => {
    assert.throws(
      () => readSettings(SPECS, { argv, env }),
      (error: unknown) => {
        assert.ok(error instanceof OperatorError);
        assert.match(error.message, says);
        assert.match(error.nextStep, /--help/);
        assert.equal(error.exitCode, 2);
        return true;
      },
    );
  });
}

test('every missing setting is named at once', () => {
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
