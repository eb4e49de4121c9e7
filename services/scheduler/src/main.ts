import { limitHeap } from '@holdfast/platform/heap';
import { runService } from '@holdfast/platform/run-service';
import { readSchedulerConfig, SCHEDULER_SETTINGS } from './config.ts';

limitHeap();
await runService({
  name: 'scheduler',
  settings: SCHEDULER_SETTINGS,
  readConfig: readSchedulerConfig,
  start: async (config, log) => {
    const { startProcess } = await import('./process.ts');
    return startProcess(config, log);
  },
});
