import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import { chooseRuntime, type RuntimeProbes } from './runtime-choice.ts';

const CONFIG = { runtime: undefined, runtimeEndpoint: undefined, sandboxImage: undefined, nodes: 1 } as const;

/** `answering`: the kinds of runtimes that answer at their usual sockets. */
function machine(answering: readonly string[], isRoot = true) {
  let kept: string | undefined;
  const asked: string[] = [];
  const probes: RuntimeProbes = {
    isRoot,
    version: async (kind) => {
      asked.push(kind);
      if (!answering.includes(kind)) throw new Error('nothing answers');
      return `${kind}://1`;
    },
  };
  const directory = {
    runtime: () => kept,
    keepRuntime: (kind: string) => {
      kept = kind;
    },
  };
  return { asked, choose: (config: object) => chooseRuntime({ ...CONFIG, ...config }, directory, probes) };
}

test('without a wish pods are processes, and an endpoint means CRI; nothing is asked', async () => {
  const { asked, choose } = machine(['cri', 'docker']);
  assert.deepEqual(await choose({}), { runtime: { kind: 'process' } });
  assert.deepEqual(await choose({ runtimeEndpoint: 'unix:///c.sock' }), {
    runtime: { kind: 'cri', endpoint: 'unix:///c.sock' },
  });
  assert.deepEqual(asked, []);
});

test('a named runtime has its usual socket unless another one is given', async () => {
  const { asked, choose } = machine([]);
  const { runtime } = await choose({ runtime: 'docker' });
  assert.deepEqual(runtime, { kind: 'docker', endpoint: 'unix:///var/run/docker.sock', sandboxImage: undefined });
  const other = await choose({ runtime: 'docker', runtimeEndpoint: 'unix:///d.sock', sandboxImage: 'pause' });
  assert.deepEqual(other.runtime, { kind: 'docker', endpoint: 'unix:///d.sock', sandboxImage: 'pause' });
  for (const wanted of ['auto', 'process'])
    await assert.rejects(choose({ runtime: wanted, runtimeEndpoint: 'unix:///d.sock' }), OperatorError);
  assert.deepEqual(asked, []);
});

test('auto prefers containerd for root, then Docker, then processes, and says why', async () => {
  const chosen = async (answering: readonly string[], isRoot = true) => {
    const { choose } = machine(answering, isRoot);
    return (await choose({ runtime: 'auto' })).line;
  };
  assert.equal(await chosen(['cri', 'docker']), 'cri (cri://1 answers)');
  assert.equal(await chosen(['cri', 'docker'], false), 'docker (docker://1 answers)');
  assert.equal(await chosen(['docker']), 'docker (docker://1 answers)');
  assert.equal(await chosen([]), 'process (neither containerd nor a Docker engine answers)');
  assert.equal(await chosen(['cri'], false), 'process (no Docker engine answers)');
});

test('auto decides once for a data directory', async () => {
  const { asked, choose } = machine(['docker']);
  await choose({ runtime: 'auto' });
  const before = asked.length;
  const again = await choose({ runtime: 'auto' });
  assert.equal(again.runtime.kind, 'docker');
  assert.equal(again.line, 'docker (as chosen by an earlier start in this data directory)');
  assert.equal(asked.length, before);
});

test('auto asks nothing without nodes', async () => {
  const { asked, choose } = machine(['docker']);
  assert.deepEqual(await choose({ runtime: 'auto', nodes: 0 }), { runtime: { kind: 'process' } });
  assert.deepEqual(asked, []);
});
