import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Suite } from './suites.ts';

/** The selection behind `npm test --`. */
export interface Selection {
  /** Names of suites; none: all of them, or `unit` with `changed`. */
  readonly suites: readonly string[];
  /** Test files and folders, absolute. */
  readonly paths: readonly string[];
  /** Text of the titles to run, such as `[TERM-29]`. */
  readonly grep?: string;
  /** Only tests that import what was changed since the branch left main. */
  readonly changed: boolean;
}

export const USAGE = [
  'npm test                                    everything',
  'npm test -- unit sim                        these suites',
  'npm test -- libs/api/src/golden.test.ts     a file, or all below a folder',
  "npm test -- --grep '[TERM-29]'              tests whose title has this text",
  'npm test -- --changed                       unit tests that import what was changed since main',
].join('\n  ');

/** Throws an error with one sentence for a person. */
export function readSelection(args: readonly string[], suites: readonly Suite[], directory: string): Selection {
  const names: string[] = [];
  const paths: string[] = [];
  let grep: string | undefined;
  let changed = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? '';
    const file = path.resolve(directory, arg);
    if (arg === '--changed') changed = true;
    else if (arg === '--grep') grep = textAfter(args, at++);
    else if (arg.startsWith('--grep=')) grep = arg.slice('--grep='.length);
    else if (suites.some(({ name }) => name === arg)) names.push(arg);
    else if (!arg.startsWith('-') && existsSync(file)) paths.push(file);
    else throw new Error(`"${arg}" is no suite (${suites.map(({ name }) => name).join(', ')}), no file and no option`);
  }
  return { suites: names, paths, changed, ...(grep === undefined ? {} : { grep }) };
}

function textAfter(args: readonly string[], at: number): string {
  const text = args[at + 1];
  if (text === undefined || text === '') throw new Error("--grep needs a text: npm test -- --grep '[TERM-29]'");
  return text;
}

/** A suite with the files of it that are to run. */
export interface ChosenSuite {
  readonly suite: Suite;
  readonly files: readonly string[];
}

export interface Tree {
  readonly root: string;
  /** Returns the files that a change since main affects. */
  readonly affected: (files: readonly string[]) => readonly string[];
}

/** Without a selection every suite is included, even one without files: that is a failure of its own. */
export function chooseFiles(selection: Selection, suites: readonly Suite[], tree: Tree): readonly ChosenSuite[] {
  const named = selection.changed && selection.suites.length === 0 ? ['unit'] : selection.suites;
  const chosen = suites
    .filter(({ name }) => named.length === 0 || named.includes(name))
    .map((suite) => ({ suite, files: pick(selection, filesOf(suite, tree.root), tree) }));
  const { paths, grep, changed } = selection;
  const isNarrowed = paths.length > 0 || grep !== undefined || changed;
  return isNarrowed ? chosen.filter(({ files }) => files.length > 0) : chosen;
}

const filesOf = ({ files }: Suite, root: string): readonly string[] =>
  globSync([...files], { cwd: root, exclude: ['**/node_modules/**'] }).sort();

function pick({ paths, grep, changed }: Selection, files: readonly string[], tree: Tree): readonly string[] {
  const isBelow = (file: string): boolean => {
    const absolute = path.join(tree.root, file);
    return paths.some((each) => absolute === each || absolute.startsWith(`${each}${path.sep}`));
  };
  const here = paths.length === 0 ? files : files.filter(isBelow);
  const found =
    grep === undefined ? here : here.filter((file) => readFileSync(path.join(tree.root, file), 'utf8').includes(grep));
  return changed ? tree.affected(found) : found;
}

/** A pattern of the test runner that finds exactly this text. */
export const patternOf = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
