import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');
const LINK = /\]\(([^)\s]+)\)/g;
/** Names of files in running text: `services/holdfast/src/main.ts`. */
const NAMED_FILE = /`((?:docs|services|libs|test|tools|scripts|bench)\/[\w./-]+)`/g;

test('tree: links between pages, and the files that they name, are there', () => {
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

function leads(page: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const target = path.join(root, file === '' ? page : path.join(path.dirname(page), file));
  if (!existsSync(target)) return false;
  return anchor === undefined || anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
}

/** As code hosts make them of headings. */
const anchorsOf = (text: string): readonly string[] =>
  Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .trim()
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
