import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { join, Sources } from '../../scripts/sources/join.mjs';
import { writeBundle } from '../../services/console/src/server/bundle.ts';
import { declarationsOf } from './declarations.ts';
import { toJavaScript } from './javascript.ts';
import { copyLibraries, OPTIONAL_LIBRARIES } from './libraries.ts';
import { simulatorFiles } from './simulator.ts';
import { Addresses, allRooms, filesOf, ROOT, readManifest, roomsOf } from './workspace.ts';

const PACKAGE = 'services/cluster';
const PROGRAM = 'services/holdfast/src/main.ts';
/** The room of the program needs all others. */
const WHOLE = '@holdfast/holdfast';
const ENTRIES = {
  '.': `${PACKAGE}/src/index.ts`,
  './api': 'libs/api/src/index.ts',
  './testenv': `${PACKAGE}/src/testenv/index.ts`,
};
/** Below `lib`: its modules in a few files, from which programs and importers start. Threads and data files are found beside the modules. */
const JOINED = 'joined';
const LAUNCHER = 'bin/holdfast.cjs';
const NODE_MAJOR_MIN = 24;
const DESCRIPTION = 'A real Kubernetes control plane inside your test: API server, scheduler, controllers and nodes.';

export interface WrittenPackage {
  readonly files: number;
  readonly version: string;
}

/** Writes the package for consumers into a new folder. */
export async function writePackage(target: string): Promise<WrittenPackage> {
  const rooms = roomsOf(WHOLE);
  const addresses = new Addresses(allRooms());
  const files = [...new Set([...rooms.flatMap(filesOf), ...simulatorFiles(addresses)])];
  const lib = path.join(target, 'lib');
  for (const file of files) writeModule(file, lib, addresses);
  const sources = rooms.flatMap(filesOf).filter((file) => file.endsWith('.ts'));
  for (const [file, text] of declarationsOf(Object.values(ENTRIES), sources, addresses))
    write(path.join(lib, file), text);
  await writeBundle(path.join(lib, 'services/console/built'));
  const libraries = copyLibraries(rooms, target);
  const { programs } = await join(new Sources(lib, path.join(lib, JOINED), Object.values(ENTRIES).map(asJavaScript)));
  const joined = (file: string): string => `lib/${JOINED}/${programs[asJavaScript(file)]}`;
  const manifest = { ...manifestOf(libraries, joined), version: readManifest(path.join(ROOT, PACKAGE)).version };
  write(path.join(target, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  write(path.join(target, LAUNCHER), launcher(joined(PROGRAM)));
  chmodSync(path.join(target, LAUNCHER), 0o755);
  copyFileSync(path.join(ROOT, 'LICENSE'), path.join(target, 'LICENSE'));
  copyFileSync(path.join(ROOT, PACKAGE, 'README.md'), path.join(target, 'README.md'));
  return { files: files.length, version: manifest.version };
}

const asJavaScript = (file: string): string => file.replace(/\.ts$/, '.js');

function writeModule(file: string, lib: string, addresses: Addresses): void {
  const from = path.join(ROOT, file);
  if (file.endsWith('.ts')) {
    if (file.endsWith('.d.ts')) return;
    write(path.join(lib, asJavaScript(file)), toJavaScript(readFileSync(from, 'utf8'), file, addresses));
  } else {
    mkdirSync(path.dirname(path.join(lib, file)), { recursive: true });
    copyFileSync(from, path.join(lib, file));
  }
}

function manifestOf(libraries: ReadonlyMap<string, string>, joined: (file: string) => string): object {
  const optional = [...OPTIONAL_LIBRARIES];
  const names = [...libraries.keys()].sort();
  return {
    name: '@holdfast/cluster',
    description: DESCRIPTION,
    license: 'Apache-2.0',
    type: 'module',
    engines: { node: `>=${NODE_MAJOR_MIN}` },
    bin: { holdfast: LAUNCHER },
    exports: {
      ...Object.fromEntries(Object.entries(ENTRIES).map(([key, file]) => [key, exportOf(file, joined(file))])),
      './package.json': './package.json',
    },
    files: ['bin', 'lib'],
    dependencies: Object.fromEntries(names.map((name) => [name, libraries.get(name)])),
    bundleDependencies: names,
    peerDependencies: Object.fromEntries(optional.map((name) => [name, '*'])),
    peerDependenciesMeta: Object.fromEntries(optional.map((name) => [name, { optional: true }])),
  };
}

const exportOf = (file: string, joined: string): object => ({
  types: `./lib/${file.replace(/\.ts$/, '.d.ts')}`,
  default: `./${joined}`,
});

/** CommonJS by its name: every Node reads it, and an old one says what is wrong with it. */
const launcher = (program: string): string => `#!/usr/bin/env node
const { version } = process;
if (Number.parseInt(version.slice(1), 10) < ${NODE_MAJOR_MIN}) {
  process.stderr.write('holdfast: Node ' + version + ' is too old\\n  Use Node ${NODE_MAJOR_MIN} or later.\\n');
  process.exit(2);
}
require('node:module').enableCompileCache();
import('../${program}');
`;

function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}
