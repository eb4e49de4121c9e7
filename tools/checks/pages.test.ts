import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');
const LINK = /\]\(([^)\s]+)\)/g;
/** Names of files in running text: `services/holdfast/src/main.ts`. */
const NAMED_FILE = /`((?:docs|services|libs|test|tools|scripts|bench)\/[\w./-]+)`/g;

test('tree: links between pages, and the files that they name, exist', () => {
  const lost: string[] = [];
  for (const page of globSync(['*.md', 'docs/**/*.md'], { cwd: root })) {
    const text = readFileSync(path.join(root, page), 'utf8');
    const links = Array.from(text.matchAll(LINK), ([, link = '']) => link).filter((link) => !/^[a-z]+:/.test(link));
    for (const link of links) if (!leads(page, link)) lost.push(`${page}: ${link}`);
    for (const [, file = ''] of text.matchAll(NAMED_FILE)) {
      if (!existsSync(path.join(root, file))) lost.push(`${page}: ${file}`);
    }
  }
  assert.deepEqual(lost, []);
});

/** `name` in running text; blocks of code are examples. */
const SPAN = /`([^`\n]+)`/g;
const BLOCK = /```[\s\S]*?```/g;
const FILE_NAME = /^[\w./-]+\.(ts|mjs|js)$/;
/** `createController`, `MAY_IMPORT`, `WriteCompanion`, `decide(...)`: a name of this code, or of what it works with. */
const IDENTIFIER =
  /^#?([a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+|(?:[A-Z][a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:\(.*\))?$/;
const VARIABLE = /^HOLDFAST_[A-Z0-9_]+$/;
const WORD = /[A-Za-z_$][\w$]*/g;
/** Names of other projects. */
const NAMES_OF_OTHERS: ReadonlySet<string> = new Set([
  'CAP_NET_BIND_SERVICE',
  'CLOCK_MONOTONIC',
  'KubeSchedulerDown',
  'KubeletDown',
  'OTEL_TRACES_SAMPLER',
  'TimeoutStopSec',
  'handleUpgrade',
  'COMPOSE_PROFILES',
  'minElectionTimeout',
  'maxElectionTimeout',
]);

interface Tree {
  /** Paths from the root. */
  readonly files: readonly string[];
  readonly words: ReadonlySet<string>;
}

function readTree(): Tree {
  const sources = globSync(
    ['{libs,services,test,tools,bench,scripts}/**/*.{ts,js,mjs,proto}', '*.{json,yml,yaml}', 'Dockerfile'],
    { cwd: root, exclude: ['**/node_modules/**', 'tools/checks/pages.test.ts'] },
  );
  const words = new Set<string>();
  for (const file of sources) {
    for (const word of readFileSync(path.join(root, file), 'utf8').match(WORD) ?? []) words.add(word);
  }
  return { files: [...sources, 'tools/checks/pages.test.ts'], words };
}

function lostNames(text: string, { files, words }: Tree): readonly string[] {
  return Array.from(text.replace(BLOCK, '').matchAll(SPAN), ([, span = '']) => span).filter((span) => {
    if (FILE_NAME.test(span)) return !files.some((file) => `/${file}`.endsWith(`/${span}`));
    const [, identifier] = IDENTIFIER.exec(span) ?? [];
    return !(identifier === undefined || isKnown(identifier, words));
  });
}

const isKnown = (name: string, words: ReadonlySet<string>): boolean =>
  words.has(name) || NAMES_OF_OTHERS.has(name) || (VARIABLE.test(name) && isSetting(name, words));

/** Every setting is a variable, too: `HOLDFAST_DATA_DIR` is `--data-dir`. Words of the flag stand in the sources. */
const isSetting = (name: string, words: ReadonlySet<string>): boolean =>
  name
    .slice('HOLDFAST_'.length)
    .toLowerCase()
    .split('_')
    .every((part) => words.has(part));

test('tree: file names and identifiers in pages exist in the sources', () => {
  const tree = readTree();
  const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root }).filter((page) => page !== 'CHANGELOG.md');
  const lost = pages.flatMap((page) =>
    lostNames(readFileSync(path.join(root, page), 'utf8'), tree).map((name) => `${page}: ${name}`),
  );
  assert.deepEqual(lost, []);
  const planted =
    'see `no-such-file.ts`, `runNothingAtAll`, `NO_SUCH_CONSTANT`, `NoSuchThing(...)`, `pages.test.ts`, `assert`';
  assert.deepEqual(lostNames(planted, tree), [
    'no-such-file.ts',
    'runNothingAtAll',
    'NO_SUCH_CONSTANT',
    'NoSuchThing(...)',
  ]);
});

function leads(page: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const target = path.join(root, file === '' ? page : path.join(path.dirname(page), file));
  if (!existsSync(target)) return false;
  return anchor === undefined || anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
}

/** Anchors as code hosts derive them from headings. */
const anchorsOf = (text: string): readonly string[] =>
  Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .trim()
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
