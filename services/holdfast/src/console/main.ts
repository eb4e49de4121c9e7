import { limitHeap } from '@holdfast/platform/heap';
import { runService } from '@holdfast/platform/run-service';
import { CONSOLE_SETTINGS, readConsoleConfig } from './config.ts';

limitHeap();
await runService({
  name: 'console',
  settings: CONSOLE_SETTINGS,
  readConfig: readConsoleConfig,
  start: async (config, log) => {
    const { startProcess } = await import('./process.ts');
    return startProcess(config, log);
  },
});
