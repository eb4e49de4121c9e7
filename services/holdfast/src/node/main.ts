import { limitHeap } from '@holdfast/platform/heap';
import { runService } from '@holdfast/platform/run-service';
import { NODE_SETTINGS, readNodeConfig } from './config.ts';

// A node of a distributed cluster: the kubelet, and in the same process the network of its pods and the proxy.
limitHeap();
// Files that others may read, such as those of pods, set their mode explicitly.
process.umask(0o077);
await runService({
  name: 'node',
  settings: NODE_SETTINGS,
  readConfig: async (from) => {
    const { withConfigurationFile } = await import('@holdfast/kubelet/node-process');
    return readNodeConfig(await withConfigurationFile(from, NODE_SETTINGS));
  },
  start: async (config, log) => {
    const { startNode } = await import('./process.ts');
    return startNode(config, log);
  },
});
