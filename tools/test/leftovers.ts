import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import path from 'node:path';

/**
 * Ends and removes what tests left in their temporary folder, as one that is killed in the middle does: processes that were started with a path in it or stand in
 * it, what is mounted there, files. Answers what there was.
 */
export function removeLeftovers(folder: string): readonly string[] {
  const processes = processesOf(folder);
  for (const { pid } of processes) endProcess(pid);
  for (const target of mountsBelow(folder)) spawnSync('umount', ['-l', target]);
  const files = existsSync(folder) ? readdirSync(folder) : [];
  // One that was just ended may still have been writing.
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  return [...processes.map(({ pid, command }) => `process ${pid} (${command})`), ...files];
}

function processesOf(folder: string): readonly { readonly pid: number; readonly command: string }[] {
  if (!existsSync('/proc/self/cmdline')) return [];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
    .map((pid) => ({ pid, command: commandOf(pid), directory: directoryOf(pid) }))
    .filter(({ command, directory }) => command.includes(`${folder}/`) || isBelow(directory, folder));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return ''; // It has ended.
  }
}

function directoryOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ''; // It has ended, or belongs to somebody else.
  }
}

function isBelow(directory: string, folder: string): boolean {
  return directory === folder || directory.startsWith(`${folder}${path.sep}`);
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** The innermost first. */
function mountsBelow(folder: string): readonly string[] {
  if (!existsSync('/proc/self/mounts')) return [];
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((target) => target.startsWith(`${folder}/`))
    .toReversed();
}
