import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, realpath } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Log } from '@holdfast/platform';
import { endNodes, removeFolder } from './end-nodes.ts';

/** Where the process nodes of one cluster keep their state. */
export interface NodesFolder {
  readonly path: string;
  /** Removes it. `isEmpty`: no process of the nodes is left; otherwise they are ended first. */
  close(state: { readonly isEmpty: boolean }): Promise<void>;
}

/** Waits until this process says that all is done, or ends; in the second case it becomes the program that ends the nodes. */
const WAIT = 'read -r _ || exec "$0" "$@"';
const DONE = 'done\n';

export async function openNodesFolder(log: Log): Promise<NodesFolder> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'holdfast-nodes-')));
  const keeper = startKeeper(folder, log);
  return {
    path: folder,
    close: async ({ isEmpty }) => {
      await (isEmpty ? removeFolder(folder) : endNodes(folder));
      await dismiss(keeper);
    },
  };
}

/** A process that outlives this one for as long as it takes to end what this one leaves behind. */
function startKeeper(folder: string, log: Log): ChildProcess {
  const program = fileURLToPath(new URL('./after-crash-main.ts', import.meta.url));
  const keeper = spawn('/bin/sh', ['-c', WAIT, process.execPath, program, folder], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  keeper.on('error', (error) => log.warn('processes of pods would outlive a crash of this process', { error }));
  keeper.stdin?.on('error', () => {});
  keeper.unref();
  if (keeper.stdin instanceof Socket) keeper.stdin.unref();
  return keeper;
}

async function dismiss(keeper: ChildProcess): Promise<void> {
  if (keeper.pid === undefined || keeper.exitCode !== null || keeper.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => void keeper.once('exit', () => resolve()));
  keeper.ref();
  keeper.stdin?.end(DONE);
  await ended;
}
