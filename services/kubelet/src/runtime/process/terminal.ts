import { spawn, spawnSync } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { HELPER_ENVIRONMENT, helper } from '../helpers.ts';
import { RuntimeError, type TerminalSize } from '../port.ts';
import { ABILITY_TEST_MS, TERMINAL_POLL_ATTEMPTS, TERMINAL_POLL_MS } from './limits.ts';
import { quote } from './mount-plan.ts';
import { processEntries } from './process-table.ts';

/**
 * Terminals without native code: `script` of util-linux opens one and runs the command on it with the shell that `SHELL` names, `stty`
 * sets its size from outside, upon which the kernel tells the foreground processes.
 */
export function terminalCommand(command: readonly string[]): readonly string[] {
  assertTerminals();
  const line = `exec ${command.map(quote).join(' ')}`;
  return [helper('script'), '--quiet', '--return', '--flush', '--echo', 'always', '--command', line, '/dev/null'];
}

let available: boolean | undefined;

/** Other systems have programs of the same name that take other options. */
export function assertTerminals(): void {
  available ??= ['script', 'stty'].every((program) => {
    const { status, stdout } = spawnSync(helper(program), ['--version'], {
      encoding: 'utf8',
      timeout: ABILITY_TEST_MS,
      env: HELPER_ENVIRONMENT,
    });
    return status === 0 && /util-linux|coreutils/.test(stdout);
  });
  if (available) return;
  throw new RuntimeError(
    'Unsupported',
    'this node cannot open a terminal: that needs the programs "script" (util-linux) and "stty" (coreutils); ' +
      'install them, or repeat the request without a terminal',
  );
}

/** Waits for the terminal of a command that has just been started. */
export async function resizeTerminal(
  host: number,
  { width, height }: TerminalSize,
  sleep: (delayMs: number) => Promise<void>,
): Promise<void> {
  for (let attempt = 0; attempt < TERMINAL_POLL_ATTEMPTS; attempt++) {
    const terminal = terminalOf(host);
    if (terminal !== undefined) return setSize(terminal, width, height);
    await sleep(TERMINAL_POLL_MS);
  }
}

function setSize(terminal: string, width: number, height: number): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(helper('stty'), ['-F', terminal, 'rows', String(height), 'cols', String(width)], {
      stdio: 'ignore',
      env: HELPER_ENVIRONMENT,
    });
    // Too late: the terminal is gone.
    child.on('error', () => resolve());
    child.once('exit', () => resolve());
  });
}

function terminalOf(host: number): string | undefined {
  try {
    for (const child of childrenOf(host)) {
      const path = readlinkSync(`/proc/${child}/fd/0`);
      if (path.startsWith('/dev/pts/')) return path;
    }
  } catch {
    // Not there yet, or not there any more.
  }
  return undefined;
}

/** Returns the processes below `script`: signals go to them, not to `script`. */
export function childrenOf(pid: number): readonly number[] {
  return processEntries()
    .filter((entry) => entry.parent === pid)
    .map((entry) => entry.pid);
}
