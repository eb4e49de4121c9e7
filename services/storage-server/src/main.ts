import { limitHeap } from '@holdfast/platform/heap';
import { runService } from '@holdfast/platform/run-service';
import { readStorageServerConfig, STORAGE_SERVER_SETTINGS } from './config.ts';

limitHeap();
await runService({
  name: 'storage-server',
  settings: STORAGE_SERVER_SETTINGS,
  readConfig: readStorageServerConfig,
  start: async (config, log) => {
    const { startProcess } = await import('./process.ts');
    return startProcess(config, log);
  },
});
