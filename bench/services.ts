import { readFileSync } from 'node:fs';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { printFigure } from './lib/figures.ts';
import { startForm } from './lib/forms.ts';
import { ruleRows } from './lib/rule-rows.ts';
import { latencyRows } from './lib/service-latency.ts';

/**
 * Services: what the rules of many services cost (as root, in a network of its own), and what a connection through a
 * service costs beside one to its pod, between process pods with addresses of their own.
 */
const SETTINGS = {
  services: { kind: 'integer', help: 'Services of the rows of rules; 0 leaves these rows out', default: 5_000, min: 0 },
  endpoints: { kind: 'integer', help: 'Endpoints of each', default: 10, min: 1, max: 200 },
  changes: { kind: 'integer', help: 'Changes of one endpoint', default: 200, min: 1 },
  connections: {
    kind: 'integer',
    help: 'Connections of each row of latency; 0 leaves them out',
    default: 2_000,
    min: 0,
  },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/services.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
if (settings.services > 0) await ruleRows(settings, printFigure);
if (settings.connections > 0) {
  const { kubeconfig, stop } = await startForm('memory', ['--pod-network', 'private']);
  try {
    const text = readFileSync(kubeconfig, 'utf8');
    const url = new URL(/server:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '');
    const token = /token:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '';
    const target = { host: url.hostname, port: Number(url.port), token };
    await latencyRows({ target, connections: settings.connections }, printFigure);
  } finally {
    await stop();
  }
}
