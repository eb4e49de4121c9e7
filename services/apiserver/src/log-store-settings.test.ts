import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import { readApiServerConfig } from './config.ts';
import { describeForm, storeForm } from './log-store-settings.ts';
import { startTestApi } from './testing/fixture.ts';

const FILES = ['--tls-cert-file=c', '--tls-key-file=k', '--token-file=t'];
const read = (...argv: string[]) => readApiServerConfig({ argv: [...FILES, ...argv], env: {} });

test('a store on NATS servers has their addresses, monitors and credentials', () => {
  const config = read(
    '--store=tls://a:4222,tls://b:4222,tls://c:4222',
    '--store-monitors=http://a:8222,http://b:8222,http://c:8222',
    '--store-user=apiserver',
    '--store-password-file=/p',
  );
  assert.equal(config?.redisUrl, undefined);
  assert.deepEqual(config?.logStore, {
    servers: ['tls://a:4222', 'tls://b:4222', 'tls://c:4222'],
    monitors: ['http://a:8222', 'http://b:8222', 'http://c:8222'],
    replicas: 3,
    user: 'apiserver',
    passwordFile: '/p',
    acceptOldServers: false,
  });
  assert.equal(read('--store=nats://a', '--store-accept-old-servers')?.logStore?.acceptOldServers, true);
});

for (const [argv, message] of [
  [['--store=redis://a', '--store-user=x'], /are for a store on NATS servers/],
  [['--store=nats://a', '--store-monitors=a:8222'], /takes http:\/\/host:port of each NATS server, not "a:8222"/],
  [['--store=nats://a,redis://b'], /--store takes nats:/],
] as const) {
  test(`the settings ${argv.join(' ')} are refused with the next step`, () => {
    assert.throws(
      () => read(...argv),
      (error) => error instanceof OperatorError && message.test(error.message) && error.exitCode === 2,
    );
  });
}

test('the form of the store and what it survives are in /readyz?verbose and a metric', async (t) => {
  const form = storeForm({ redisUrl: undefined, logStore: { replicas: 3 }, allowUnsafeStore: false });
  const api = await startTestApi({ storeForm: form });
  t.after(() => api.stop());
  const ready = String((await api.call('GET', '/readyz?verbose')).body);
  assert.match(ready, /ok \(log; acknowledged writes survive a power cut, and the loss of any machine\)/);
  const metrics = String((await api.call('GET', '/metrics')).body);
  assert.match(metrics, /^holdfast_store_form\{form="log",survives="a power cut, and the loss of any machine"\} 1$/m);
});

test('a form that is not safe does not promise anything', () => {
  const unsafe = { redisUrl: 'redis://a', logStore: undefined, allowUnsafeStore: true };
  assert.equal(describeForm(storeForm(unsafe)), 'redis; acknowledged writes survive what its settings allow');
});
