import { after, before } from 'node:test';
import { GoClient } from './go-client.ts';
import { HoldfastProcess } from './holdfast-process.ts';

export interface WalkedCluster {
  readonly client: GoClient;
  readonly kubeconfig: string;
}

/**
 * Closes what the tests of this file open, the latest first. It also closes what was open when `before` failed: a step
 * that fails must not leave the processes of earlier steps running.
 */
export function resourcesOfFile(): AsyncDisposableStack {
  const resources = new AsyncDisposableStack();
  after(() => resources.disposeAsync());
  return resources;
}

/** Starts one cluster and a client of it for all tests of this file. `prepare` completes the set-up. */
export function walkCluster(flags: readonly string[], prepare: (cluster: WalkedCluster) => void | Promise<void>): void {
  const resources = resourcesOfFile();
  before(async () => {
    const { ready } = resources.use(await HoldfastProcess.start(flags));
    const client = resources.use(await GoClient.connect(ready.kubeconfig));
    await prepare({ client, kubeconfig: ready.kubeconfig });
  });
}
