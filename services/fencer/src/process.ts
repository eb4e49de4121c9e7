import { openComponent } from '@holdfast/client/component-config';
import { type Log, type Service, startAll } from '@holdfast/platform';
import { requireSettings } from '@holdfast/platform/config';
import { buildAgents } from './agents/build-agents.ts';
import { createFencer } from './app.ts';
import type { FencerConfig } from './config.ts';
import { readConfigurationFile } from './configuration/read-file.ts';
import { createStatusServer } from './status-server.ts';

/** The fencer of one process, with its identity, agents and status address. */
export async function startProcess({ settings }: FencerConfig, log: Log): Promise<Service> {
  const { config } = requireSettings(settings, ['config']);
  const configuration = await readConfigurationFile(config, settings['node-monitor-grace-seconds']);
  const { connection, ...tools } = await openComponent(settings, { name: 'fencer', log });
  const agents = buildAgents(configuration.agents, tools.clock);
  const fencer = createFencer({ ...tools, configuration, holder: settings.identity, agents });
  const address = settings['status-address'];
  const status = address === undefined ? [] : [createStatusServer(address, fencer)];
  return startAll(fencer.name, [connection, ...status, fencer], tools);
}
