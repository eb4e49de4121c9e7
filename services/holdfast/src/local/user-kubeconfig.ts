import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { type Clock, describeError, OperatorError } from '@holdfast/platform';
import { type Document, isMap, isSeq, parseDocument, type ToStringOptions, type YAMLSeq } from 'yaml';
import { yamlFault } from './yaml-fault.ts';

/** The parts of one cluster in a kubeconfig, all under one name. */
export interface ContextEntry {
  readonly name: string;
  readonly cluster: object;
  readonly user: object;
}

const LISTS = ['clusters', 'users', 'contexts'] as const;
/** kubectl holds the same file while it writes. */
const LOCK_SUFFIX = '.lock';
const LOCK_WAIT_MS = 5_000;
const LOCK_POLL_MS = 50;
const PRIVATE_FILE = 0o600;
const MODE_BITS = 0o777;

/** The file that kubectl would write: of several in KUBECONFIG the first that exists, else the last. */
export function userKubeconfig(env: Readonly<Record<string, string | undefined>>): string {
  const named = (env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '');
  const file = named.find((each) => existsSync(each)) ?? named.at(-1);
  return path.resolve(file ?? path.join(env['HOME'] ?? homedir(), '.kube', 'config'));
}

/** Throws when the context cannot be added, so that a command can say it before it begins. */
export function checkKubeconfig(file: string): void {
  const target = targetOf(file);
  if (existsSync(target)) parsed(readFileSync(target, 'utf8'), file);
}

/** Adds the context, or replaces it. Everything else in the file stays as it is. */
export async function mergeContext(
  file: string,
  { name, cluster, user }: ContextEntry,
  { clock, makeCurrent }: { readonly clock: Clock; readonly makeCurrent: boolean },
): Promise<void> {
  await change(file, clock, (document) => {
    put(document, 'clusters', { name, cluster });
    put(document, 'users', { name, user });
    put(document, 'contexts', { name, context: { cluster: name, user: name } });
    if (makeCurrent) document.set('current-context', name);
    return true;
  });
}

/**
 * Removes the context with its cluster and user. A file without it stays untouched. One that was made for contexts alone
 * (`isMade`) goes with the last of them.
 */
export async function removeContext(
  file: string,
  name: string,
  { clock, isMade }: { readonly clock: Clock; readonly isMade: boolean },
): Promise<void> {
  if (!existsSync(file)) return;
  await change(file, clock, (document) => {
    const places = LISTS.map((list) => ({
      entries: listOf(document, list),
      at: indexOf(listOf(document, list), name),
    }));
    const isCurrent = document.get('current-context') === name;
    for (const { entries, at } of places.filter((place) => place.at >= 0)) entries.delete(at);
    if (isCurrent) document.set('current-context', '');
    if (isMade && saysNothing(document)) return 'remove';
    return isCurrent || places.some(({ at }) => at >= 0);
  });
}

/** No entry, no setting and no remark of anybody. */
function saysNothing(document: Document): boolean {
  if (document.toString().includes('#')) return false;
  const { apiVersion: _version, kind: _kind, ...rest } = document.toJS() as Readonly<Record<string, unknown>>;
  return Object.values(rest).every((value) => isEmpty(value));
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** `edit` answers whether it changed something, or whether the file goes. */
async function change(file: string, clock: Clock, edit: (document: Document) => boolean | 'remove'): Promise<void> {
  try {
    const target = targetOf(file);
    mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
    const release = await lock(target, clock);
    try {
      const before = existsSync(target) ? readFileSync(target, 'utf8') : '';
      const document = parsed(before, file);
      const edited = edit(document);
      if (edited === 'remove') rmSync(target);
      else if (edited) replace(target, document.toString(formOf(before)));
    } finally {
      release();
    }
  } catch (error) {
    throw error instanceof OperatorError
      ? error
      : refusal(`the kubeconfig ${file} cannot be changed: ${describeError(error)}`, RIGHTS, error);
  }
}

/** As it was written: kubectl does not indent lists. */
const formOf = (text: string): ToStringOptions => ({
  lineWidth: 0,
  indentSeq: !/^\w+:\n- /m.test(text),
  flowCollectionPadding: /[{[] /.test(text),
});

/** A link stays a link: what it points to is replaced. */
function targetOf(file: string): string {
  const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (isLink && !existsSync(file)) throw refusal(`the kubeconfig ${file} is a link to nothing`, RIGHTS);
  return isLink ? realpathSync(file) : file;
}

function parsed(text: string, file: string): Document {
  const document: Document = parseDocument(text);
  if (document.errors[0] !== undefined) throw broken(file, yamlFault(document.errors[0]));
  if (document.contents === null) document.contents = document.createNode({ apiVersion: 'v1', kind: 'Config' });
  if (!isMap(document.contents)) throw broken(file, 'it is not a map');
  for (const list of LISTS) {
    const found = document.get(list);
    if (found === undefined || found === null) document.set(list, document.createNode([]));
    else if (!isSeq(found)) throw broken(file, `"${list}" is not a list`);
  }
  return document;
}

function put(
  document: Document,
  list: (typeof LISTS)[number],
  entry: { readonly name: string } & Readonly<Record<string, unknown>>,
): void {
  const entries = listOf(document, list);
  const at = indexOf(entries, entry.name);
  // An empty list is written as [], and would keep that form.
  if (entries.items.length === 0) entries.flow = false;
  if (at >= 0) entries.set(at, document.createNode(entry));
  else entries.add(document.createNode(entry));
}

function listOf(document: Document, list: (typeof LISTS)[number]): YAMLSeq {
  const found = document.get(list);
  if (isSeq(found)) return found;
  const made = document.createNode([]) as YAMLSeq;
  document.set(list, made);
  return made;
}

const indexOf = (entries: YAMLSeq, name: string): number =>
  entries.items.findIndex((item) => isMap(item) && item.get('name') === name);

/** Atomic; mode and owner stay. */
function replace(target: string, text: string): void {
  const found = statSync(target, { throwIfNoEntry: false });
  const draft = `${target}.${process.pid}.new`;
  try {
    writeFileSync(draft, text, { mode: PRIVATE_FILE, flag: 'wx' });
    if (found !== undefined) {
      chmodSync(draft, found.mode & MODE_BITS);
      if (found.uid !== process.getuid?.()) chownSync(draft, found.uid, found.gid);
    }
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

async function lock(target: string, clock: Clock): Promise<() => void> {
  const file = `${target}${LOCK_SUFFIX}`;
  const until = clock.monotonic() + LOCK_WAIT_MS;
  while (!tryLock(file)) {
    if (clock.monotonic() > until) {
      throw refusal(
        `the kubeconfig ${target} is locked by another program`,
        `Try again. When no program writes it, remove ${file}.`,
      );
    }
    await clock.sleep(LOCK_POLL_MS);
  }
  return () => rmSync(file, { force: true });
}

function tryLock(file: string): boolean {
  try {
    writeFileSync(file, '', { flag: 'wx', mode: PRIVATE_FILE });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

const RIGHTS = 'Check its path and permissions, or name another file with KUBECONFIG.';

const broken = (file: string, why: string): OperatorError =>
  refusal(
    `the kubeconfig ${file} is broken and stays as it is: ${why}`,
    'Mend it, or name another file with KUBECONFIG.',
  );

const refusal = (message: string, nextStep: string, cause?: unknown): OperatorError =>
  new OperatorError({ code: 'UserKubeconfig', message, nextStep, cause });
