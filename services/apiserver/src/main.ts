import { limitHeap } from '@holdfast/platform/heap';
import { runService } from '@holdfast/platform/run-service';
import { APISERVER_SETTINGS, readApiServerConfig } from './config.ts';

limitHeap();
await runService({
  name: 'apiserver',
  settings: APISERVER_SETTINGS,
  readConfig: readApiServerConfig,
  start: async (config, log) => {
    const { startProcess } = await import('./process.ts');
    return startProcess(config, log);
  },
});
