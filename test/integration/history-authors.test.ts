import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { waitFor } from '../support/wait.ts';

interface Changes {
  readonly items: readonly {
    readonly type: string;
    readonly object: { readonly name: string };
    readonly by?: { readonly user?: string; readonly userAgent?: string; readonly verb?: string };
  }[];
}

test('two API servers over one store know the authors of each other, and tell nothing of secrets', async () => {
  await using redis = await startRedis();
  await using nats = await startNatsServer({ users: [{ role: { kind: 'apiserver' }, password: 'p' }] });
  const flags = ['--nodes', '0', '--store', redis.url, '--bus', nats.url.replace('://', '://apiserver:p@')];
  await using one = await HoldfastProcess.start(flags);
  await using other = await HoldfastProcess.start(flags);
  const { run, attempt } = createKubectl(() => one.ready.kubeconfig);
  const { run: ask } = createKubectl(() => other.ready.kubeconfig);
  const changesOf = async (path: string): Promise<Changes['items']> => {
    const answer = await ask('get', '--raw', `/holdfast.io/history/v1/changes/api/v1/namespaces/default/${path}`);
    assert.doesNotMatch(answer, /hidden/);
    return (JSON.parse(answer) as Changes).items;
  };
  await run('create', 'configmap', 'here', '--from-literal=n=1');
  await run('create', 'secret', 'generic', 'keys', '--from-literal=password=hidden');
  await run('patch', 'configmap', 'here', '-p', '{"data":{"n":"2"}}');
  for (const [path, verbs] of [
    ['configmaps/here', ['create', 'patch']],
    ['secrets/keys', ['create']],
  ] as const) {
    await waitFor(`the authors of ${path}`, async () => {
      const items = await changesOf(path);
      return items.length === verbs.length && items.every(({ by }) => by?.user !== undefined);
    });
    const items = await changesOf(path);
    assert.deepEqual(
      items.map(({ by }) => [by?.user, by?.verb, by?.userAgent?.split('/')[0]]),
      verbs.map((verb) => ['admin', verb, 'kubectl']),
    );
  }
  assert.notEqual((await attempt('create', 'configmap', 'here')).code, 0);
  await waitFor('the refused write', async () => (await changesOf('configmaps/here')).at(-1)?.type === 'refused');
  assert.equal((await changesOf('configmaps/here')).at(-1)?.by?.user, 'admin');
});
