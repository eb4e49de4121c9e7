// `bundle.mjs [ROOT] [--image]` joins the modules of every program below ROOT into a few large files, without types: a server
// that starts from them compiles some 130 modules instead of a thousand. Packages stay where they are installed. The files are
// used as long as no source has changed since (bundle-state.mjs).
import { mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { FOLDER, isBundleFresh, MANIFEST, stateOf } from './bundle-state.mjs';

const OWN_ROOT = path.dirname(path.dirname(import.meta.dirname));
/** Also read by a bundle: which packages there are, and this program. */
const READ_BESIDE = ['pnpm-lock.yaml', 'scripts/sources/bundle.mjs'];
/** A file that is changed now may have the time of the kernel's last tick. */
const COARSE_MS = 10;
const TRIES = 3;
/** A process that still runs loads modules on demand from the bundle that it began with. */
const KEPT = 5;

const PROGRAM = /(?:^|[/-])main\.ts$/;
const REQUIRED = /createRequire\(import\.meta\.url\)\('((?:\.|@holdfast\/)[^']+)'\)/g;
const LOCATION = /\bimport\.meta\.(url|dirname)\b/g;

/** Joins all programs below `root`. Returns false when a source changed meanwhile: then nothing is kept. */
export async function buildBundle(root, { isInImage = false } = {}) {
  const startedAt = Date.now();
  const home = path.join(root, FOLDER);
  const folder = `${startedAt}-${process.pid}`;
  const sources = new Sources(root, path.join(home, folder));
  mkdirSync(home, { recursive: true });
  const { outputs, inputs } = await join(root, sources);
  const files = [...inputs, ...sources.manifests(), ...READ_BESIDE];
  const isStill = files.every((file) => changedAt(path.join(root, file)) < startedAt - COARSE_MS);
  const states = files.map((file) => [file, ...stateOf(path.join(root, file), isInImage)]);
  if (isStill) publish(home, { folder, isInImage, states, programs: programsOf(outputs, root) });
  removeOld(home, isStill ? [] : [folder]);
  return isStill;
}

/** A file that is gone has just changed. */
const changedAt = (file) => stateOf(file, false).at(-1) ?? Number.POSITIVE_INFINITY;

async function join(root, sources) {
  const { build, stop } = createRequire(path.join(OWN_ROOT, 'services/console/package.json'))('esbuild');
  try {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: sources.entries().map((file) => ({ in: file, out: nameOf(file) })),
      outdir: sources.target,
      bundle: true,
      splitting: true,
      chunkNames: '[hash]',
      format: 'esm',
      platform: 'node',
      target: 'node24',
      // Packages that are no modules, and what is required where it is first used.
      banner: {
        js: `import { createRequire as $createRequire } from 'node:module'; const require = $createRequire(import.meta.url);`,
      },
      legalComments: 'none',
      logLevel: 'silent',
      metafile: true,
      plugins: [sources.plugin()],
    });
    const inputs = Object.keys(metafile.inputs).map((file) => file.split('\0')[0]);
    return { outputs: metafile.outputs, inputs };
  } finally {
    await stop();
  }
}

/** `services/holdfast/src/main.ts` is `services.holdfast.src.main.js` in the bundle. */
const nameOf = (file) => file.replace(/\.ts$/, '').replaceAll('/', '.');

function programsOf(outputs, root) {
  const entries = Object.entries(outputs).filter(([, { entryPoint }]) => entryPoint !== undefined);
  return Object.fromEntries(
    entries.map(([file, { entryPoint }]) => [entryPoint, path.basename(path.resolve(root, file))]),
  );
}

/** By a rename: another process reads the old manifest or the new one. */
function publish(home, manifest) {
  const temporary = path.join(home, `${manifest.folder}.json`);
  writeFileSync(temporary, JSON.stringify(manifest));
  writeFileSync(path.join(home, manifest.folder, 'package.json'), '{"type":"module"}');
  renameSync(temporary, path.join(home, MANIFEST));
}

function removeOld(home, failed) {
  const folders = readdirSync(home).filter((name) => name !== MANIFEST && !name.endsWith('.json'));
  const old = folders.toSorted().slice(0, -KEPT);
  for (const name of [...old, ...failed]) rmSync(path.join(home, name), { recursive: true, force: true });
}

/** The modules of the workspace, and what has to change in their texts when they move into the bundle. */
class Sources {
  constructor(root, target) {
    this.root = root;
    this.target = target;
    this.rooms = ['libs', 'services'].flatMap((group) =>
      readdirSync(path.join(root, group)).map((room) => `${group}/${room}`),
    );
    const files = this.rooms.flatMap((room) => modulesBelow(root, `${room}/src`));
    this.texts = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
  }

  manifests() {
    return this.rooms.map((room) => `${room}/package.json`);
  }

  /** Programs of processes and of threads, and modules that are required where they are first used. */
  entries() {
    const required = [...this.texts].flatMap(([file, text]) =>
      [...text.matchAll(REQUIRED)].map(([, specifier]) => this.resolve(specifier, file)),
    );
    return [...new Set([...[...this.texts.keys()].filter((file) => PROGRAM.test(file)), ...required])];
  }

  resolve(specifier, from) {
    const file = createRequire(path.join(this.root, from)).resolve(specifier);
    return path.relative(this.root, realpathSync(file));
  }

  /** A module in the bundle still finds the files that lie beside its source. */
  moved(file) {
    const text = this.texts.get(file);
    const inside = text.replace(REQUIRED, (_, specifier) => `require('./${nameOf(this.resolve(specifier, file))}.js')`);
    const source = path.relative(this.target, path.join(this.root, file));
    const url = `new URL(${JSON.stringify(source)}, import.meta.url).href`;
    const folder = `process.getBuiltinModule('node:path').join(import.meta.dirname, ${JSON.stringify(path.dirname(source))})`;
    return inside.replace(LOCATION, (_, what) => (what === 'url' ? url : folder));
  }

  plugin() {
    const locating = new Set([...this.texts.keys()].filter((file) => this.texts.get(file).includes('import.meta')));
    const setup = ({ onLoad, onResolve, resolve }) => {
      onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
        const name = path.relative(this.root, file);
        return locating.has(name) ? { contents: this.moved(name), loader: 'ts' } : undefined;
      });
      onResolve({ filter: /^\.\/[\w.-]+\.js$/ }, ({ path: file }) =>
        file.startsWith('./services.') || file.startsWith('./libs.') ? { path: file, external: true } : undefined,
      );
      onResolve({ filter: /^[a-z@]/ }, (asked) => this.installed(asked, resolve));
    };
    return { name: 'sources', setup };
  }

  /** Packages stay where they are. */
  async installed({ path: name, pluginData, ...asked }, resolve) {
    if (pluginData === 'asked' || name.startsWith('node:') || name.startsWith('@holdfast/')) return undefined;
    if (asked.kind === 'entry-point') return undefined;
    const { kind, importer, resolveDir } = asked;
    const found = await resolve(name, { kind, importer, resolveDir, pluginData: 'asked' });
    if (found.errors.length > 0 || found.external) return { path: name, external: true };
    return { path: path.relative(this.target, found.path), external: true };
  }
}

function modulesBelow(root, folder) {
  return readdirSync(path.join(root, folder), { recursive: true })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.endsWith('.d.ts'))
    .map((file) => path.join(folder, file));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder = OWN_ROOT] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
  const root = realpathSync(folder);
  const isInImage = process.argv.includes('--image');
  for (let tries = 1; !isBundleFresh(root) && !(await buildBundle(root, { isInImage })); tries++) {
    if (tries === TRIES) throw new Error('the sources change all the time');
  }
}
