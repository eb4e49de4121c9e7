// The helper of hooks.mjs: `strip.mjs ROOT ENTRY` writes every module that ENTRY may come to load to its output, without types,
// in about the order in which it will be asked for.
import { readdirSync, readFileSync, writeSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { encodeRecord } from './record.mjs';

// Before anything of WebAssembly runs: to optimise what runs for half a second costs more than it gains.
setFlagsFromString('--liftoff-only');

const OUTPUT = 1;
const IMPORT = /\b(?:from|import)\s*\(?\s*'([^']+)'|\bnew URL\(\s*'(\.[^']+\.ts)'/g;

const [root = '', entry = ''] = process.argv.slice(2);
const packages = packagesOf(root);
const files = new Set([entry]);
for (const file of files) {
  const text = strip(file);
  if (text === undefined) continue;
  write(encodeRecord(file, text));
  for (const [, imported, program] of text.matchAll(IMPORT)) {
    const target = resolve(imported ?? program, file);
    if (target?.endsWith('.ts')) files.add(target);
  }
}
write(encodeRecord('', ''));

/** What cannot be read or stripped is left to Node, whose errors are the better ones. */
function strip(file) {
  try {
    return stripTypeScriptTypes(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function resolve(specifier, from) {
  return specifier.startsWith('.') ? path.join(path.dirname(from), specifier) : packages.get(specifier);
}

/** Every name under which the packages of this workspace can be imported. */
function packagesOf(folder) {
  const names = new Map();
  for (const group of ['libs', 'services']) {
    for (const each of readdirSync(path.join(folder, group))) {
      const home = path.join(folder, group, each);
      const { name, exports = {} } = JSON.parse(readFileSync(path.join(home, 'package.json'), 'utf8'));
      for (const [key, target] of Object.entries(typeof exports === 'string' ? { '.': exports } : exports)) {
        names.set(path.posix.join(name, key), path.join(home, target));
      }
    }
  }
  return names;
}

function write(record) {
  for (let written = 0; written < record.length; ) written += writeSync(OUTPUT, record, written);
}
