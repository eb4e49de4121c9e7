import { limitHeap } from '@holdfast/platform/heap';
import { runService } from '@holdfast/platform/run-service';
import { PROXY_SETTINGS, readProxyConfig } from './config.ts';

limitHeap();
await runService({
  name: 'proxy',
  settings: PROXY_SETTINGS,
  readConfig: readProxyConfig,
  start: async (config, log) => {
    const { removeRules, startProcess } = await import('./process.ts');
    return config.isCleanup ? removeRules() : startProcess(config, log);
  },
});
