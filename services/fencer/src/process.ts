import { openComponent } from '@holdfast/client/component-config';
import { type Log, type Service, startAll } from '@holdfast/platform';
import { requireSettings } from '@holdfast/platform/config';
import { createHealthServer } from '@holdfast/platform/status-server';
import { buildAgents } from './agents/build-agents.ts';
import { createFencer } from './app.ts';
import type { FencerConfig } from './config.ts';
import { readConfigurationFile } from './configuration/read-file.ts';

/** The fencer of one process, with its identity, agents and status address. */
export async function startProcess({ settings }: FencerConfig, log: Log): Promise<Service> {
  const { config } = requireSettings(settings, ['config']);
  const configuration = await readConfigurationFile(config, settings['node-monitor-grace-seconds']);
  const { connection, ...tools } = await openComponent(settings, { name: 'fencer', log });
  const agents = buildAgents(configuration.agents, tools.clock);
  const fencer = createFencer({ ...tools, configuration, holder: settings.identity, agents });
  const address = settings['status-address'];
  const status =
    address === undefined
      ? []
      : [createHealthServer({ component: 'fencer', address, source: fencer, unready: 'the nodes are not read yet' })];
  return startAll(fencer.name, [connection, ...status, fencer], tools);
}
