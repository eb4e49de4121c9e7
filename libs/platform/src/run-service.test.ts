import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { eventually } from './contract/index.ts';

const RUN_SERVICE = new URL('./run-service.ts', import.meta.url).href;
const PLATFORM = new URL('./index.ts', import.meta.url).href;

/** Writes a program whose start and stop are given as source text. */
function program(t: TestContext, { start, stop = '', more = '' }: { start: string; stop?: string; more?: string }) {
  const text = `
    import { OperatorError } from '${PLATFORM}';
    import { runService } from '${RUN_SERVICE}';
    setInterval(() => {}, 1000);
    await runService({
      name: 'sample', settings: {}, ${more}
      readConfig: () => ({ logLevel: 'info' }),
      start: async (config, log) => { ${start}; return { name: 'sample', start: async () => {}, stop: async () => { ${stop} } } },
    });`;
  const child = spawn(process.execPath, [
    '--input-type=module-typescript',
    '--disable-warning=ExperimentalWarning',
    '-e',
    text,
  ]);
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const ended = once(child, 'close').then(([code]: unknown[]) => code);
  return { child, ended, output: () => output };
}

test('a signal stops a service in order', async (t) => {
  const { child, ended, output } = program(t, { start: '', stop: "log.info('in order')" });
  await eventually(() => output().includes('started'), 'started');
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
  assert.match(output(), /stopping.*SIGTERM|SIGTERM.*stopping/);
  assert.match(output(), /in order/);
});

test('a signal ends a service that waits for a dependency', async (t) => {
  const { child, ended, output } = program(t, { start: "log.info('waiting'); await new Promise(() => {})" });
  await eventually(() => output().includes('waiting'), 'waiting');
  child.kill('SIGINT');
  assert.equal(await ended, 0);
});

test('a failed stop sets the exit code', async (t) => {
  const { child, ended, output } = program(t, { start: '', stop: "throw new Error('still held')" });
  await eventually(() => output().includes('started'), 'started');
  child.kill('SIGTERM');
  assert.equal(await ended, 1);
  assert.match(output(), /still held/);
});

test('a service whose stop hangs is ended', async (t) => {
  const { child, ended, output } = program(t, {
    start: '',
    stop: 'await new Promise(() => {})',
    more: 'stopDeadlineMs: 10,',
  });
  await eventually(() => output().includes('started'), 'started');
  child.kill('SIGTERM');
  assert.equal(await ended, 1);
  assert.match(output(), /did not stop in time/);
});

test('an operator error is printed with its cause and the next step', async (t) => {
  const error = "new OperatorError({ code: 'X', message: 'port 1 is taken', nextStep: 'Use another.', exitCode: 3 })";
  const { ended, output } = program(t, { start: `throw ${error}` });
  assert.equal(await ended, 3);
  assert.match(output(), /port 1 is taken\nUse another\./);
});

test('an operator error of an unhandled rejection is printed the same way', async (t) => {
  const error = "new OperatorError({ code: 'X', message: 'a thread has failed', nextStep: 'Start it.', exitCode: 3 })";
  const { ended, output } = program(t, { start: `setImmediate(() => { throw ${error} })` });
  assert.equal(await ended, 3);
  assert.match(output(), /^a thread has failed\nStart it\.$/m);
  assert.doesNotMatch(output(), /at /);
});

test('a bug is printed with its stack', async (t) => {
  const { ended, output } = program(t, { start: "throw new Error('a bug', { cause: new Error('deep') })" });
  assert.equal(await ended, 1);
  assert.match(output(), /a bug[^]+ at [^]+deep/);
});
