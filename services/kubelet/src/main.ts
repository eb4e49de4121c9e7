import { limitHeap } from '@holdfast/platform/heap';
import { runService } from '@holdfast/platform/run-service';
import { KUBELET_SETTINGS, readKubeletConfig } from './config.ts';

limitHeap();
// Files that others may read, such as those of pods, set their mode explicitly.
process.umask(0o077);
await runService({
  name: 'kubelet',
  settings: KUBELET_SETTINGS,
  readConfig: async (from) => {
    const { withConfigurationFile } = await import('./node/kubelet-configuration.ts');
    return readKubeletConfig(await withConfigurationFile(from));
  },
  start: async (config, log) => {
    const { startProcess } = await import('./process.ts');
    return startProcess(config, log);
  },
});
