import { spawnSync } from 'node:child_process';

const OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024;

/** Runs a command and returns its output; throws a sentence with its error output when it fails. */
export function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): string {
  const result = spawnSync(command, args, { ...options, encoding: 'utf8', maxBuffer: OUTPUT_LIMIT_BYTES });
  if (result.error !== undefined) throw new Error(`${command} cannot be run: ${result.error.message}`);
  if (result.status !== 0) {
    throw new Error(`${command} ${args.join(' ')} failed:\n${result.stdout}\n${result.stderr}`);
  }
  return result.stdout;
}

export function dockerSucceeds(args: readonly string[]): boolean {
  return spawnSync('docker', args, { stdio: 'ignore' }).status === 0;
}
