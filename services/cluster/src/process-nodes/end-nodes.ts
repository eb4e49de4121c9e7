import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { createProcessRuntime, mountsBelow } from '@holdfast/kubelet/process-runtime';
import { createSilentLog, createSystemClock } from '@holdfast/platform';

/** Ends every process of the nodes in this folder and removes it. Rejects, and keeps the folder, when some may be left. */
export async function endNodes(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  const clock = createSystemClock();
  const log = createSilentLog();
  const nodeAddress = (): string => '127.0.0.1';
  for (const name of readdirSync(folder)) {
    const stateDirectory = path.join(folder, name);
    await createProcessRuntime({ stateDirectory, clock, log, nodeAddress }).shutdown(0);
  }
  await removeFolder(folder);
}

/** Rejects when something is mounted in it. */
export async function removeFolder(folder: string): Promise<void> {
  // Removing through a mount would remove what is mounted.
  const [mounted] = mountsBelow(folder);
  if (mounted !== undefined) throw new Error(`${mounted.target} is still mounted: ${folder} is kept`);
  await rm(folder, { recursive: true, force: true });
}
