import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { OperatorError } from '@holdfast/platform/errors';
import { BUNDLE_FILES_MAX } from '../limits.ts';

export interface BundleFile {
  /** `app-5XK2.js` */
  readonly name: string;
  readonly bytes: Uint8Array;
}

const PAGE = path.resolve(import.meta.dirname, '../page');
/** Packages and images carry the built files; a checkout builds them on the first visit. */
const BUILT = path.resolve(import.meta.dirname, '../../built');

/** The files of the console: script, style, icon and the page that names them. */
export async function loadBundle(): Promise<readonly BundleFile[]> {
  const names = await readdir(BUILT).catch(() => undefined);
  if (names === undefined) return buildBundle();
  return Promise.all(
    names.slice(0, BUNDLE_FILES_MAX).map(async (name) => ({ name, bytes: await readFile(path.join(BUILT, name)) })),
  );
}

/** About 0.2 s: nobody waits for it who does not open the console. */
export async function buildBundle(): Promise<readonly BundleFile[]> {
  const { build, stop } = await loadBuilder();
  const result = await build({
    entryPoints: { app: path.join(PAGE, 'main.tsx'), style: path.join(PAGE, 'style.css') },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: ['es2022', 'chrome110', 'firefox115', 'safari16'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    outdir: PAGE,
    logLevel: 'silent',
  });
  await stop();
  const made = result.outputFiles.map(({ path: file, contents }) => {
    const { name, ext } = path.parse(file);
    return { name: `${name}-${fingerprint(contents)}${ext}`, bytes: contents };
  });
  const icon = { name: 'icon.svg', bytes: await readFile(path.join(PAGE, 'icon.svg')) };
  const page = await readFile(path.join(PAGE, 'index.html'), 'utf8');
  const named = page.replace(/assets\/(app|style)\.(js|css)/g, (_, name: string, ext: string) => {
    const file = made.find((each) => each.name.startsWith(`${name}-`) && each.name.endsWith(`.${ext}`));
    return `assets/${file?.name}`;
  });
  return [...made, icon, { name: 'index.html', bytes: Buffer.from(named) }];
}

/** For packages and images, which have no program that builds it. */
export async function writeBundle(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { name, bytes } of await buildBundle()) await writeFile(path.join(folder, name), bytes);
}

async function loadBuilder() {
  try {
    return await import('esbuild');
  } catch (error) {
    throw new OperatorError({
      code: 'CONSOLE_NOT_BUILT',
      message: 'the files of the console are not built, and the program that builds them is not installed.',
      nextStep: 'Use `npm start` in a checkout, or a package made by `npm run package`.',
      cause: error,
    });
  }
}

const fingerprint = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64url').slice(0, 10);
