import { limitHeap } from '@holdfast/platform/heap';
import { runService } from '@holdfast/platform/run-service';
import { FENCER_SETTINGS, readFencerConfig } from './config.ts';

limitHeap();
await runService({
  name: 'fencer',
  settings: FENCER_SETTINGS,
  readConfig: readFencerConfig,
  start: async (config, log) => {
    const { startProcess } = await import('./process.ts');
    return startProcess(config, log);
  },
});
