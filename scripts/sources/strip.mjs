// The helper of hooks.mjs: `strip.mjs ROOT ENTRY` writes every module that ENTRY may come to load to its output, without types,
// in the order in which Node asks for them. Those that are asked for by name in descriptor 3 come first, those that are
// loaded on demand last.
import { fstatSync, readdirSync, readFileSync, readSync, writeSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { encodeRecord } from './record.mjs';

const OUTPUT = 1;
const WANTED = 3;
const IMPORT = /\b(?:from|import)\s*'([^']+)'|\b(?:import|new URL)\(\s*'([^']+)'/g;

// A Ctrl-C reaches this process as well, but the server still loads what it needs to stop in order.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
// On any exit: readers must not wait for missing modules.
process.on('exit', () => write(encodeRecord('', '')));
const [root = '', entry = ''] = process.argv.slice(2);
const packages = packagesOf(root);
const done = new Set();
const onDemand = new Set();
/** The last is the next. */
const next = [entry];
let wantedRead = 0;
for (;;) {
  next.push(...newlyWanted());
  if (next.length > 0) handle(next.pop());
  else if (onDemand.size > 0) next.push(...onDemand.keys().take(1));
  else break;
}

function handle(file) {
  onDemand.delete(file);
  if (done.has(file)) return;
  done.add(file);
  const text = strip(file);
  if (text === undefined) return;
  write(encodeRecord(file, text));
  const imports = [];
  for (const [, imported, demanded] of text.matchAll(IMPORT)) {
    const target = resolve(imported ?? demanded, file);
    if (!target?.endsWith('.ts') || done.has(target)) continue;
    if (imported === undefined) onDemand.add(target);
    else imports.push(target);
  }
  next.push(...imports.reverse());
}

function newlyWanted() {
  const { size } = fstatSync(WANTED);
  if (size === wantedRead) return [];
  const bytes = Buffer.alloc(size - wantedRead);
  readSync(WANTED, bytes, 0, bytes.length, wantedRead);
  wantedRead = size;
  return bytes.toString().split('\n').filter(Boolean);
}

/** Unreadable or invalid modules are left to Node, whose errors are better. */
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
