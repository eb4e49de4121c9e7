import { connectComponent } from '@holdfast/client/component-config';
import {
  createIds,
  createSystemClock,
  createSystemRandom,
  type Log,
  openTracing,
  type Service,
} from '@holdfast/platform';
import { requireSettings } from '@holdfast/platform/config';
import { buildAgents } from './agents/build-agents.ts';
import { createFencer } from './app.ts';
import type { FencerConfig } from './config.ts';
import { readConfigurationFile } from './configuration/read-file.ts';
import { createStatusServer } from './status-server.ts';

/** The fencer of one process, with its identity, its agents and its status address. */
export async function startProcess({ settings }: FencerConfig, log: Log): Promise<Service> {
  const configuration = await readConfigurationFile(requireSettings(settings, ['config']).config);
  const clock = createSystemClock();
  const random = createSystemRandom();
  const { tracer, ...tracing } = await openTracing('fencer', settings['tracing-endpoint']);
  const connection = await connectComponent(settings, { clock, log, userAgent: 'holdfast-fencer', tracer });
  const fencer = createFencer({
    client: connection.client,
    bus: connection.bus,
    clock,
    random,
    ids: createIds(random),
    log,
    tracer,
    configuration,
    holder: settings.identity,
    agents: buildAgents(configuration.agents, clock),
  });
  const address = settings['status-address'];
  const status = address === undefined ? undefined : createStatusServer(address, fencer);
  await status?.start();
  await fencer.start();
  return {
    name: fencer.name,
    start: async () => {},
    stop: async () => {
      await fencer.stop();
      await status?.stop();
      await connection.close();
      await tracing.stop();
    },
  };
}
