import { runService } from '@holdfast/platform/run-service';
import { readSchedulerConfig, SCHEDULER_SETTINGS } from './config.ts';

await runService({
  name: 'scheduler',
  settings: SCHEDULER_SETTINGS,
  readConfig: readSchedulerConfig,
  start: async (config, log) => {
    const { startProcess } = await import('./process.ts');
    return startProcess(config, log);
  },
});
