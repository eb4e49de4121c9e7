import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CHECKSUMS, generate } from './generate.ts';

const OUTPUT = resolve(import.meta.dirname, '../../libs/api/src/generated');
const DEFAULT_REFERENCE = resolve(import.meta.dirname, '../../../shared/reference/openapi-v1.32');

function main(args: readonly string[]): number {
  const reference = args.find((arg) => !arg.startsWith('--')) ?? DEFAULT_REFERENCE;
  if (!existsSync(join(reference, 'swagger.json'))) {
    process.stderr.write(
      `No swagger.json in ${reference}: pass the directory of the OpenAPI documents as an argument.\n`,
    );
    return 2;
  }
  const files = generate(reference);
  return args.includes('--verify') ? verify(files) : write(files);
}

function write(files: ReadonlyMap<string, string>): number {
  mkdirSync(OUTPUT, { recursive: true });
  for (const name of ownFiles()) if (!files.has(name)) rmSync(join(OUTPUT, name), { force: true });
  for (const [name, text] of files) writeFileSync(join(OUTPUT, name), text);
  process.stdout.write(`${files.size} files written to libs/api/src/generated\n`);
  return 0;
}

function verify(files: ReadonlyMap<string, string>): number {
  const stale = [...files].filter(([name, text]) => currentText(name) !== text).map(([name]) => name);
  const left = ownFiles().filter((name) => !files.has(name));
  if (stale.length + left.length === 0) return 0;
  process.stderr.write(`Out of date: ${[...stale, ...left].join(', ')}. Run: node tools/gen/main.ts\n`);
  return 1;
}

/** Other generators write to the same directory: only what this one recorded is its own. */
function ownFiles(): readonly string[] {
  const recorded: unknown = JSON.parse(currentText(CHECKSUMS) ?? '{}');
  return typeof recorded === 'object' && recorded !== null ? Object.keys(recorded) : [];
}

const currentText = (name: string): string | undefined =>
  existsSync(join(OUTPUT, name)) ? readFileSync(join(OUTPUT, name), 'utf8') : undefined;

process.exitCode = main(process.argv.slice(2));
