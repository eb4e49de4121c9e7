import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { OperatorError } from '@holdfast/platform';
import { exitCodeOf } from './child-command.ts';
import type { Terminal } from './command.ts';

const FRONT_DOOR = path.join('scripts', 'front-door.mjs');

/** The checkout of Holdfast in which one of these folders is. */
export function checkoutOf(folders: readonly string[]): string | undefined {
  return folders.flatMap(foldersAbove).find(isCheckout);
}

function foldersAbove(folder: string): readonly string[] {
  const above = path.dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersAbove(above)];
}

function isCheckout(folder: string): boolean {
  if (!existsSync(path.join(folder, FRONT_DOOR))) return false;
  try {
    const manifest: { readonly name?: unknown } | null = JSON.parse(
      readFileSync(path.join(folder, 'package.json'), 'utf8'),
    );
    return manifest?.name === 'holdfast';
  } catch {
    return false;
  }
}

/** In the package this is below `lib`, with the simulator beside it. */
const SIMULATOR = path.resolve(import.meta.dirname, '../../../..', 'tools/hunt/packaged-main.js');

export interface CheckoutScript {
  /** What needs the checkout: `sim`. */
  readonly command: string;
  /** The script of npm: `hunt`. */
  readonly script: string;
  readonly args: readonly string[];
}

/** Runs a script of the checkout. The faults of containers are parts of its tests, and need images that are made of its sources. */
export function runInCheckout({ command, script, args }: CheckoutScript, { env }: Terminal): Promise<number> {
  const here = env['INIT_CWD'] ?? process.cwd();
  const root = checkoutOf([import.meta.dirname, here]);
  if (root === undefined) throw noCheckout(command);
  const argv = [path.join(root, FRONT_DOOR), script, ...args];
  return exitCodeOf(process.execPath, argv, { ...env, INIT_CWD: here });
}

/** Runs the simulator: that of the package, else that of the checkout. */
export function runSimulator(args: readonly string[], terminal: Terminal): Promise<number> {
  if (!existsSync(SIMULATOR)) return runInCheckout({ command: 'sim', script: 'hunt', args }, terminal);
  return exitCodeOf(process.execPath, [SIMULATOR, ...args], terminal.env);
}

const noCheckout = (command: string): OperatorError =>
  new OperatorError({
    code: 'NoCheckout',
    message: `${command} needs a checkout of Holdfast: it makes images of the sources, and its faults are parts of the tests`,
    nextStep: `Repeat it in a folder of the checkout. \`sim\` plays the same files without containers.`,
    exitCode: 2,
  });
