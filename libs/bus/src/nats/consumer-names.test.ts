import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NODE_CONSUMERS_MAX } from '../limits.ts';
import { consumerNamesOf, freeName, nodeUserName } from './consumer-names.ts';
import type { Request } from './jetstream-api.ts';
import { natsServerConfig } from './server-config.ts';

const LONG_A = `${'a.'.repeat(126)}a`;
const LONG_B = `${'a.'.repeat(126)}b`;

test('the consumers of a node have a small fixed set of unique names', () => {
  const nodes = ['a', 'a-1', 'a-1-1', 'a.1', 'node-a', LONG_A, LONG_B];
  const names = nodes.flatMap((node) => consumerNamesOf(nodeUserName(node)) ?? []);
  assert.equal(names.length, nodes.length * NODE_CONSUMERS_MAX);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^[A-Za-z0-9_=-]{1,255}$/);
});

test('components of the control plane may use any name', () => {
  assert.equal(consumerNamesOf('scheduler'), undefined);
  assert.equal(consumerNamesOf('anyone'), undefined);
});

test('the permissions of a node list each consumer with its own filter, and no other', () => {
  const role = { kind: 'node', nodeName: 'n.1' } as const;
  const users = [{ role, password: 'p' }];
  const config = JSON.parse(natsServerConfig({ host: 'h', port: 1, storeDir: '/s', users }));
  const allowed: readonly string[] = config.authorization.users[0].permissions.publish.allow;
  const operations = (consumerNamesOf(nodeUserName('n.1')) ?? []).flatMap((name) => [
    `$JS.API.CONSUMER.CREATE.K8S_EV.${name}.k8s.ev.pods.*.n=2E1.>`,
    `$JS.API.CONSUMER.INFO.K8S_EV.${name}`,
    `$JS.API.CONSUMER.DELETE.K8S_EV.${name}`,
  ]);
  assert.deepEqual(
    allowed.filter((subject) => subject.startsWith('$JS.API.')),
    operations,
  );
});

/** A fake JetStream with these consumers. The value says whether the consumer has a listener. */
function jetStream(consumers: Map<string, boolean>): Request {
  return async (subject) => {
    const name = subject.split('.').at(-1) ?? '';
    const heard = consumers.get(name);
    if (heard === undefined) return JSON.stringify({ error: { err_code: 10014, description: 'consumer not found' } });
    if (subject.includes('.DELETE.')) return JSON.stringify({ success: consumers.delete(name) });
    return JSON.stringify({ name, ...(heard ? { push_bound: true } : {}) });
  };
}

test('a name whose consumer has a listener is kept; one without a listener is freed', async () => {
  const consumers = new Map([
    ['n-0', true],
    ['n-1', false],
  ]);
  const names = ['n-0', 'n-1', 'n-2'];
  assert.equal(await freeName(jetStream(consumers), names), 'n-1');
  assert.deepEqual([...consumers.keys()], ['n-0'], 'the server would continue it where it stands');
  consumers.set('n-1', true);
  assert.equal(await freeName(jetStream(consumers), names), 'n-2');
  consumers.set('n-2', true);
  assert.equal(await freeName(jetStream(consumers), names), undefined);
  assert.equal(consumers.size, 3);
});
