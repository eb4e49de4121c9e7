import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The innermost first. */
export function mountsBelow(directory: string): readonly string[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((target) => target.startsWith(`${directory}/`))
    .toReversed();
}

export function spawnQuietly(program: string, args: readonly string[]): void {
  try {
    execFileSync(program, args, { stdio: 'ignore', timeout: 20_000 });
  } catch {
    // Already gone.
  }
}
