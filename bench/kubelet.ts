import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { printFigure } from './lib/figures.ts';
import { type Started, startForm } from './lib/forms.ts';
import { hollowRows, podRows } from './lib/kubelet-rows.ts';
import { RUNTIMES, startRuntime } from './lib/runtimes.ts';
import type { Target } from './lib/tls-connection.ts';

/** Nodes through a whole cluster (API, scheduler, controllers, kubelet in one process): real pods, then many nodes that only pretend. */
const SETTINGS = {
  store: { kind: 'string', help: 'Where the objects are: memory, sqlite, redis-nats', default: 'memory' },
  runtime: { kind: 'string', help: 'What runs the real pods: process, docker, cri', default: 'process' },
  single: { kind: 'integer', help: 'Pods that are started one after the other', default: 20, min: 1, max: 100 },
  pods: { kind: 'integer', help: 'Pods that are started together', default: 100, min: 1, max: 110 },
  nodes: { kind: 'integer', help: 'Nodes with simulated pods; 0 leaves these rows out', default: 5000, min: 0 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const STORES = ['memory', 'sqlite', 'redis-nats'] as const;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/kubelet.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const store = oneOf('store', STORES, settings.store);
const runtime = oneOf('runtime', RUNTIMES, settings.runtime);
const { single, pods, nodes } = settings;
await using engine = await startRuntime(runtime);
await withCluster(engine.flags, async ({ target, pid, directory }) => {
  await podRows({ target, pid, directory, image: engine.image, single, pods }, printFigure);
});
if (nodes > 0) {
  const hollow = ['--nodes', '0', '--hollow-nodes', String(nodes)];
  await withCluster(hollow, ({ target, pid, startMs }) => hollowRows({ target, pid, startMs, nodes }, printFigure));
}

interface Cluster extends Pick<Started, 'pid' | 'startMs'> {
  readonly target: Target;
  readonly directory: string;
}

async function withCluster(extra: readonly string[], use: (cluster: Cluster) => Promise<void>): Promise<void> {
  const { kubeconfig, pid, startMs, stop } = await startForm(store, extra);
  try {
    const text = readFileSync(kubeconfig, 'utf8');
    const url = new URL(/server:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '');
    const token = /token:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '';
    await use({
      pid,
      startMs,
      directory: path.dirname(kubeconfig),
      target: { host: url.hostname, port: Number(url.port), token },
    });
  } finally {
    await stop();
  }
}

function oneOf<T extends string>(name: string, choices: readonly T[], chosen: string): T {
  const choice = choices.find((each) => each === chosen);
  if (choice !== undefined) return choice;
  process.stderr.write(`--${name} takes one of ${choices.join(', ')}, not "${chosen}"\n`);
  return process.exit(2);
}
