import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { notAllowed, notFound, PAGE_POLICY, SECURITY_HEADERS } from './answers.ts';
import { type BundleFile, loadBundle } from './bundle.ts';

const TYPES: ReadonlyMap<string, string> = new Map([
  ['html', 'text/html; charset=utf-8'],
  ['js', 'text/javascript; charset=utf-8'],
  ['css', 'text/css; charset=utf-8'],
  ['svg', 'image/svg+xml'],
]);
const PAGE = 'index.html';

interface Served {
  readonly plain: Uint8Array;
  readonly zipped: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** The files of the console, built and compressed on the first visit. */
export class Files {
  readonly #load: () => Promise<readonly BundleFile[]>;
  #files: Promise<ReadonlyMap<string, Served>> | undefined;

  constructor(load: () => Promise<readonly BundleFile[]> = loadBundle) {
    this.#load = load;
  }

  async answer(request: ApiRequest): Promise<ApiResponse> {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw notAllowed();
    if (!request.path.startsWith('/ui/')) throw notFound();
    const asked = request.path.slice('/ui/'.length);
    const name = asked === '' ? PAGE : asked.startsWith('assets/') ? asked.slice('assets/'.length) : undefined;
    const file = name === undefined ? undefined : (await this.prepare()).get(name);
    if (file === undefined) throw notFound();
    if (request.headers['if-none-match'] === file.headers['etag']) {
      return { status: 304, headers: file.headers, body: { kind: 'empty' } };
    }
    const isZipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    const bytes = isZipped ? file.zipped : file.plain;
    return {
      status: 200,
      headers: isZipped ? { ...file.headers, 'content-encoding': 'gzip' } : file.headers,
      body: { kind: 'json', bytes: () => bytes, value: () => undefined },
    };
  }

  /** Throws when the files are not there. */
  prepare(): Promise<ReadonlyMap<string, Served>> {
    this.#files ??= readFiles(this.#load).catch((error: unknown) => {
      // The next visit tries again.
      this.#files = undefined;
      throw error;
    });
    return this.#files;
  }
}

async function readFiles(load: () => Promise<readonly BundleFile[]>): Promise<ReadonlyMap<string, Served>> {
  const files = await load();
  const served = await Promise.all(files.map(async (file) => [file.name, await serve(file)] as const));
  return new Map(served);
}

async function serve({ name, bytes }: BundleFile): Promise<Served> {
  const type = TYPES.get(name.split('.').at(-1) ?? '') ?? 'application/octet-stream';
  const isPage = name === PAGE;
  return {
    plain: bytes,
    zipped: await promisify(gzip)(bytes, { level: 9 }),
    headers: {
      ...SECURITY_HEADERS,
      ...(isPage ? { 'content-security-policy': PAGE_POLICY } : {}),
      'content-type': type,
      // The names of the others contain a hash of their bytes, except the icon's.
      'cache-control': isPage ? 'no-cache' : 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
      etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    },
  };
}
