// Joins the modules of programs into a few large files, without types. Packages stay where they are installed.
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const OWN_ROOT = path.dirname(path.dirname(import.meta.dirname));
/** Programs of processes and of threads. */
const PROGRAM = /(?:^|[/-])main\.[jt]s$/;
/** They outlive the server and are copied for that, so each is one file that needs no other. */
const ALONE = /\/kubelet\/src\/.*\/(?:supervisor|watchdog|view-worker|agent)-main\.ts$/;
const REQUIRED = /createRequire\(import\.meta\.url\)\('((?:\.|@holdfast\/)[^']+)'\)/g;
const LOCATION = /\bimport\.meta\.(url|dirname)\b/g;
/** Packages that are no modules, and what is required where it is first used. */
const REQUIRE = `import { createRequire as $createRequire } from 'node:module'; const require = $createRequire(import.meta.url);`;

/** Returns which file of the bundle each program is, and what was read. */
export async function join(sources) {
  const { build, stop } = createRequire(path.join(OWN_ROOT, 'services/console/package.json'))('esbuild');
  const common = {
    absWorkingDir: sources.root,
    outdir: sources.target,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    legalComments: 'none',
    logLevel: 'silent',
    metafile: true,
  };
  const together = { splitting: true, chunkNames: '[hash]', banner: { js: REQUIRE }, plugins: [sources.plugin()] };
  try {
    const made = await Promise.all([
      build({ ...common, ...together, entryPoints: sources.entries().map(entryPoint) }),
      build({ ...common, entryPoints: sources.alone().map(entryPoint) }),
    ]);
    const outputs = Object.assign({}, ...made.map(({ metafile }) => metafile.outputs));
    return { programs: programsOf(outputs), inputs: made.flatMap(({ metafile }) => Object.keys(metafile.inputs)) };
  } finally {
    await stop();
  }
}

const entryPoint = (file) => ({ in: file, out: nameOf(file) });

/** `services/holdfast/src/main.ts` is `services.holdfast.src.main.js` in the bundle. */
const nameOf = (file) => file.replace(/\.[jt]s$/, '').replaceAll('/', '.');

function programsOf(outputs) {
  const entries = Object.entries(outputs).filter(([, { entryPoint }]) => entryPoint !== undefined);
  return Object.fromEntries(entries.map(([file, { entryPoint }]) => [entryPoint, path.basename(file)]));
}

/** The modules of the rooms below `root`, and what has to change in their texts when they move into `target`. */
export class Sources {
  #moreEntries;
  #texts;

  constructor(root, target, moreEntries = []) {
    this.root = root;
    this.target = target;
    this.#moreEntries = moreEntries;
    const files = roomsBelow(root).flatMap((room) => modulesOf(root, room));
    this.#texts = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
  }

  /** Programs, and modules that are required where they are first used. */
  entries() {
    const required = [...this.#texts].flatMap(([file, text]) =>
      [...text.matchAll(REQUIRED)].map(([, specifier]) => this.#resolve(specifier, file)),
    );
    const programs = [...this.#texts.keys()].filter((file) => PROGRAM.test(file) && !ALONE.test(file));
    return [...new Set([...programs, ...required, ...this.#moreEntries])];
  }

  alone() {
    return [...this.#texts.keys()].filter((file) => ALONE.test(file));
  }

  plugin() {
    const setup = ({ onLoad, onResolve, resolve }) => {
      onLoad({ filter: /\.[jt]s$/ }, ({ path: file }) => this.#load(path.relative(this.root, file)));
      // Another program of the bundle.
      onResolve({ filter: /^\.\/(?:libs|services)\.[\w.-]+\.js$/ }, ({ path: file }) => ({
        path: file,
        external: true,
      }));
      onResolve({ filter: /^[a-z@]/ }, (asked) => this.#installed(asked, resolve));
    };
    return { name: 'sources', setup };
  }

  #resolve(specifier, from) {
    const file = createRequire(path.join(this.root, from)).resolve(specifier);
    return path.relative(this.root, realpathSync(file));
  }

  #load(file) {
    if (this.#texts.get(file)?.includes('import.meta') !== true) return undefined;
    return { contents: this.#moved(file), loader: path.extname(file).slice(1) };
  }

  /** A module in the bundle still finds the files that lie beside its source. */
  #moved(file) {
    const text = this.#texts.get(file);
    const inside = text.replace(
      REQUIRED,
      (_, specifier) => `require('./${nameOf(this.#resolve(specifier, file))}.js')`,
    );
    const source = path.relative(this.target, path.join(this.root, file));
    const url = `new URL(${JSON.stringify(source)}, import.meta.url).href`;
    const folder = `process.getBuiltinModule('node:path').join(import.meta.dirname, ${JSON.stringify(path.dirname(source))})`;
    return inside.replace(LOCATION, (_, what) => (what === 'url' ? url : folder));
  }

  /** Packages stay where they are. */
  async #installed({ path: name, pluginData, ...asked }, resolve) {
    if (pluginData === 'asked' || name.startsWith('node:') || name.startsWith('@holdfast/')) return undefined;
    if (asked.kind === 'entry-point') return undefined;
    const { kind, importer, resolveDir } = asked;
    const found = await resolve(name, { kind, importer, resolveDir, pluginData: 'asked' });
    if (found.errors.length > 0 || found.external) return { path: name, external: true };
    return { path: path.relative(this.target, found.path), external: true };
  }
}

export function roomsBelow(root) {
  const isRoom = (room) => existsSync(path.join(root, room, 'src'));
  return ['libs', 'services']
    .flatMap((group) => readdirSync(path.join(root, group)).map((room) => `${group}/${room}`))
    .filter(isRoom);
}

export const manifestOf = (room) => `${room}/package.json`;

export function modulesOf(root, room) {
  return readdirSync(path.join(root, room, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[jt]s$/.test(entry.name) && !/\.(?:test|d)\.ts$/.test(entry.name))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
}
