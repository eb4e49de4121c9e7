import { readFileSync } from 'node:fs';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { controllerRows } from './lib/controller-rows.ts';
import { printFigure } from './lib/figures.ts';
import { startForm } from './lib/forms.ts';
import { residentMb } from './lib/server-process.ts';

/** Controllers under load: a whole cluster in one process with nodes that only pretend, driven and watched from outside. */
const SETTINGS = {
  store: { kind: 'string', help: 'Where the objects are: memory, sqlite, redis-nats', default: 'memory' },
  nodes: { kind: 'integer', help: 'Nodes with simulated pods', default: 50, min: 1 },
  pods: { kind: 'integer', help: 'Pods of the Deployment', default: 1000, min: 4 },
  objects: { kind: 'integer', help: 'Objects in the namespace that is deleted', default: 2000, min: 1 },
  deployments: { kind: 'integer', help: 'Deployments of the idle cluster', default: 500, min: 1 },
  registered: { kind: 'integer', help: 'Nodes that are registered besides, without heartbeats', default: 5000, min: 1 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const STORES = ['memory', 'sqlite', 'redis-nats'] as const;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/controllers.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const store = STORES.find((each) => each === settings.store);
if (store === undefined) {
  process.stderr.write(`--store takes one of ${STORES.join(', ')}, not "${settings.store}"\n`);
  process.exit(2);
}
const { pods, objects, deployments, registered } = settings;
const { kubeconfig, pid, stop } = await startForm(store, ['--hollow-nodes', String(settings.nodes)]);
try {
  const text = readFileSync(kubeconfig, 'utf8');
  const url = new URL(/server:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '');
  const token = /token:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '';
  const target = { host: url.hostname, port: Number(url.port), token };
  await controllerRows({ target, pid, pods, objects, deployments, registered }, printFigure);
  printFigure({ row: 'memory', value: residentMb(pid), unit: 'MB RSS', note: 'after all that' });
} finally {
  await stop();
}
