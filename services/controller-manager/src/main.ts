import { limitHeap } from '@holdfast/platform/heap';
import { runService } from '@holdfast/platform/run-service';
import { CONTROLLER_MANAGER_SETTINGS, readControllerManagerConfig } from './config.ts';

limitHeap();
await runService({
  name: 'controller-manager',
  settings: CONTROLLER_MANAGER_SETTINGS,
  readConfig: readControllerManagerConfig,
  start: async (config, log) => {
    const { startProcess } = await import('./process.ts');
    return startProcess(config, log);
  },
});
